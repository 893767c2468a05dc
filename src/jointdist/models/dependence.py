r"""The dependence of X and Y under the model, with a permutation test of independence.

The ratio :math:`r = 1 + h` of the joint distribution to the product of the empirical
marginals has mean one. Under that product its :math:`\chi^2` divergence is :math:`E r^2 - 1`
and its mutual information :math:`E r \log r`. With exact marginals both vanish for
independent variables only; otherwise they include the difference of the marginals.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.sample import Sample
from jointdist.lowrank.basis import Basis, host_features
from jointdist.models.coefficients import Problem, objective

__all__ = ["Dependence", "dependence", "permutation_test"]

_GRID = 4096  # rows on whose grid the mutual information is averaged: a second
_PERMUTED = 20_000  # rows that are permuted: 200 permutations take seconds
_BLOCK = 512  # rows of the grid at a time: 16 MB


@dataclass(frozen=True, slots=True)
class Dependence:
    r"""The dependence of two groups of variables.

    Attributes
    ----------
    chi2 : float
        The :math:`\chi^2` divergence of the joint distribution from independence.
    mutual_information : float
        The mutual information in nats.
    statistic : float
        The statistic of the permutation test: the sum of :math:`b^2 / a` over the
        coefficients, by how much the closed form lowers the objective of these rows.
    p_value : float
        The share of permutations, the identity among them, with as large a statistic.
        Small values speak against independence.
    permutations : int
        The number of permutations.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 200))
    >>> model = jd.JointDistribution(random_state=0).fit(x[:, None], x + noise)
    >>> found = model.dependence(permutations=99)
    >>> found.p_value, bool(found.mutual_information > 0.1)
    (0.01, True)
    """

    chi2: float
    mutual_information: float
    statistic: float
    p_value: float
    permutations: int

    def __str__(self) -> str:
        return (
            f"mutual information {self.mutual_information:.4g} nats, "
            f"chi-squared divergence {self.chi2:.4g}, "
            f"p = {self.p_value:.3g} for independence ({self.permutations} permutations)"
        )


def dependence(
    problem: Problem,
    H: Vector,
    regularization: float,
    permutations: int,
    rng: np.random.Generator,
) -> Dependence:
    """Measure the dependence that a model implies, and test it.

    Parameters
    ----------
    problem : Problem
        Bases, moments and rows.
    H : array of shape (m_Y, m_X)
        The coefficients.
    regularization : float
        The ridge of the test's statistic.
    permutations : int
        The number of permutations.
    rng : Generator
        Chooses rows and permutations.
    """
    goal = objective(problem, regularization)
    statistic, p_value = permutation_test(problem, regularization, permutations, rng)
    mass = 1 + float(_mean(problem.y, problem) @ H @ _mean(problem.x, problem))
    squared = 2 * mass - 1 + float(goal.c_y @ (H * H) @ goal.c_x)
    chi2 = squared / mass**2 - 1 if mass > 0 else float("nan")
    information = _information(problem, H / mass, (1 - mass) / mass, chi2, rng)
    return Dependence(chi2, information, statistic, p_value, permutations)


def _mean(basis: Basis, problem: Problem) -> Vector:
    """Return the means of the basis functions over the sample."""
    sums = problem.moments
    s = sums.sum_x if basis is problem.x else sums.sum_y
    mean: Vector = (to_numpy(s) / sums.weight - to_numpy(basis.mean)) @ to_numpy(
        basis.rotation
    )
    return mean


def _information(
    problem: Problem, H: Vector, shift: float, chi2: float, rng: np.random.Generator
) -> float:
    r"""Return the mean of :math:`r \log r` over the grid of some rows, adjusted.

    With :math:`r - 1 = \Psi_Y H \Psi_X + \text{shift}`. The chi2 of these rows differs from
    that of all, which is known; what follows of the difference for the mean is taken
    off, by a regression over the rows. Negative ratios count as zero.
    """
    rows, share = _chosen(problem.sample, _GRID, rng)
    F_y, F_x = _features(problem, rows)
    right = H @ F_x.T
    by_row, by_column = np.zeros((2, 2, len(rows)))
    for start in range(0, len(rows), _BLOCK):
        own = slice(start, start + _BLOCK)
        h = F_y[own] @ right + shift
        logs = np.log1p(h, out=np.zeros_like(h), where=h > -1)
        for i, part in enumerate(((1 + h) * logs - h, h * h)):
            by_row[i, own] = part @ share
            by_column[i] += share[own] @ part
    mean = by_row @ share
    apart = np.concatenate([by_row - mean[:, None], by_column - mean[:, None]], axis=1)
    (_, joint), (_, own_square) = (apart * np.tile(share, 2)) @ apart.T
    slope = joint / own_square if own_square > 0 else 0.0
    return float(mean[0] - slope * (mean[1] - chi2))


def permutation_test(
    problem: Problem, regularization: float, permutations: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the statistic of the rows, and its rank among those with Y permuted.

    Weights do not enter: rows could not be exchanged if each had its own.

    Parameters
    ----------
    problem : Problem
        Bases, moments and rows.
    regularization : float
        The ridge of the statistic.
    permutations : int
        The number of permutations.
    rng : Generator
        Chooses rows and permutations.
    """
    goal = objective(problem, regularization)
    rows, _ = _chosen(problem.sample, _PERMUTED, rng)
    F_y, F_x = _features(problem, rows)
    F_x = (F_x - F_x.mean(axis=0)) / len(rows)

    def statistic(F: Vector) -> float:
        b = F.T @ F_x
        return float(np.sum(b * b * goal.inverse))

    own = statistic(F_y)
    others = [statistic(F_y[rng.permutation(len(rows))]) for _ in range(permutations)]
    exceeding = sum(other >= own * (1 - 1e-12) for other in others)
    return own, (1 + exceeding) / (1 + permutations)


def _chosen(sample: Sample, limit: int, rng: np.random.Generator) -> tuple[Index, Vector]:
    """Return the numbers of rows, all or a choice, and their shares of the weight."""
    rows = sample.choose(limit, rng.integers(2**32))
    weights = np.ones(len(rows)) if sample.weights is None else sample.weights[rows]
    return rows, weights / weights.sum()


def _features(problem: Problem, rows: Index) -> tuple[Vector, Vector]:
    y, x = problem.sample.y.take(rows), problem.sample.x.take(rows)
    return host_features(problem.y, y), host_features(problem.x, x)
