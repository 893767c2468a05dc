"""The tuned constants of default kernels and their length scales."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "KernelSettings"]


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """Constants of default kernels, each with the reason for its value.

    Attributes
    ----------
    median_rows : int
        Rows whose pairwise distances the median heuristic compares. A time budget: 131,000
        pairs, in a few milliseconds a column.
    category_similarity : float
        The first guess of the similarity of rows whose categories differ, where there are
        several columns. Above zero, so that rows that differ still borrow strength from each
        other; evidence then tells which columns count.
    category_least : float
        The least loss of similarity, 1 / length scale, of a categorical column that counts:
        one percent, as evidence cannot tell less from none. Below it the column drops out.
    ard_steps : int
        Steps of the quasi-Newton method for length scales by evidence; after so many they
        hardly change.
    ard_prior_deviation : float
        The standard deviation of the prior of the logarithm of a squared inverse length
        scale. Wide: two standard deviations are a factor of 20 of the length scale. And
        proper, so that the length scales of irrelevant columns stay finite.
    ard_bound : float
        The bound of that logarithm: four standard deviations of the prior.
    ard_noise : tuple of float
        The least noise, the first guess and the largest, in units of the amplitude: from a
        condition number that Cholesky's method can bear to targets that are nothing but
        noise.
    """

    median_rows: int = 512
    category_similarity: float = 0.5
    category_least: float = 1e-2
    ard_steps: int = 40
    ard_prior_deviation: float = 3.0
    ard_bound: float = 12.0
    ard_noise: tuple[float, float, float] = (1e-6, 0.1, 1e3)


SETTINGS = KernelSettings()
