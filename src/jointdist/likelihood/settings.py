"""The tuned constants of maximum likelihood."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "LikelihoodSettings", "most_functions"]


@dataclass(frozen=True, slots=True)
class LikelihoodSettings:
    """Constants of maximum likelihood, each with the reason for its value.

    Attributes
    ----------
    cells : int
        The largest number of cells of a column of numbers.
    functions : int
        The largest number of functions of a column of numbers.
    category_functions : int
        The largest number of functions of categories: a time budget.
    rank_scale : float
        The length scale of the kernel on ranks.
    rank : int
        The largest number of functions of X: a time budget.
    kept : int
        Numbers of features that are kept in memory: 2 GiB in single precision.
    exact : int
        Numbers of features up to which they are kept in double precision: 32 MB. Rounding of
        single precision would show in the seventh digit of answers, and save little here.
    tol, tight_tol : float
        The share of the gain that the program may leave: of large problems, where less hardly
        changes scores, and of small ones, where it costs little.
    """

    cells: int = 200
    functions: int = 24
    category_functions: int = 256
    rank_scale: float = 0.3
    rank: int = 2500
    kept: int = 1 << 29
    exact: int = 1 << 22
    tol: float = 1e-3
    tight_tol: float = 1e-7


SETTINGS = LikelihoodSettings()


def most_functions(n: int) -> int:
    """Return the largest number of functions of X for n rows.

    Parameters
    ----------
    n : int
        The number of rows.
    """
    return min(n, SETTINGS.rank)
