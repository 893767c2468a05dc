r"""The functions of Y whose conditional means a projection matches.

First and second moments of the columns, and the leading features of the kernel, whitened.
"""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Array, Vector, to_numpy
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.support_points import SupportPoints
from jointdist.projection.settings import SETTINGS

__all__ = ["MatchedMoments", "matched_moments"]

_VANISHING = 1e-10  # variance of a feature beside that of the first: rounding
_SINGULAR = 1e-9  # eigenvalue of correlations beside the largest: rounding


@dataclass(frozen=True, eq=False)
class MatchedMoments:
    r"""Functions :math:`g` of mean zero whose conditional means are matched.

    Attributes
    ----------
    sample : KernelSupport
        The sample.
    shift : array of shape (p,)
        The means of powers and features over the sample.
    mix : array of shape (p, r)
        From powers and features less their means to the functions.
    penalty : array of shape (r,)
        The ridge of each, for a ridge of one.
    powers : int
        How many of the first p are powers of columns.
    """

    sample: KernelSupport
    shift: Vector
    mix: Vector
    penalty: Vector
    powers: int

    def at(self, z: Array) -> Vector:
        """Return the functions at points, ``(b, r)``."""
        found: Vector = (self.raw(z) - self.shift) @ self.mix
        return found

    def raw(self, z: Array) -> Vector:
        """Return powers and features at points, ``(b, p)``."""
        return np.concatenate(
            [_powers(self.sample, to_numpy(z), self.powers), self.sample.features(z)],
            axis=1,
        )

    def expected(self) -> Vector:
        r"""Return the means of :math:`(1, \Psi)^\top g` over the sample, from its moments."""
        sample = self.sample
        second = np.diag(_second_moments(sample))
        ones = np.insert(sample.mean, 0, 1.0)
        columns = _power_columns(sample, self.powers, sample.powers)
        if columns is None or sample.powers is None:
            return sample.expectations(self.at)
        right = np.concatenate([sample.mean[None, :], second])
        raw = np.concatenate([sample.powers[:, columns], right], axis=1)
        found: Vector = (raw - np.multiply.outer(ones, self.shift)) @ self.mix
        return found

    def on_fewer(self, points: SupportPoints) -> KernelSupport:
        """Return some rows of the sample as a sample of the same functions and kind.

        Parameters
        ----------
        points : SupportPoints
            The rows, with weights.
        """
        whole = self.sample
        kind = replace(points)
        vars(kind)["has_few_values"] = (
            whole.points.has_few_values
        )  # whatever these rows are
        part = _weight(points) / _weight(whole.points)
        basis = replace(whole.basis, eigenvalues=to_numpy(whole.basis.eigenvalues) * part)
        return KernelSupport.of(kind, basis, whole.mean)

    def ridge(self, ridge: float) -> Vector:
        """Return the ridge of each function.

        Parameters
        ----------
        ridge : float
            The ridge of the first feature.
        """
        return np.minimum(ridge * self.penalty, SETTINGS.largest_ridge)


def _powers(sample: KernelSupport, z: Vector, count: int) -> Vector:
    """Return the first powers of numeric columns less the origin, ``(b, count)``."""
    if not count:
        return np.empty((len(z), 0))
    numeric = _numeric(sample)
    v = z[:, numeric] - sample.origin[numeric]
    products = [v[:, i] * v[:, j] for i, j in _multiplied(len(numeric), count)]
    return np.column_stack([v, *products])


def _numeric(sample: KernelSupport) -> list[int]:
    """Return which columns are numeric."""
    categories = sample.points.encoding.categories
    return [i for i, known in enumerate(categories) if known is None]


def _multiplied(d: int, count: int) -> list[tuple[int, int]]:
    """Return which columns are multiplied, after the d columns themselves."""
    if count in {0, d}:
        return []
    return [(i, j) for i in range(d) for j in (range(i, d) if count > 2 * d else [i])]


def _count_powers(sample: KernelSupport) -> int:
    """Return how many powers of columns are matched."""
    d = len(_numeric(sample))
    if sample.points.has_few_values or d > SETTINGS.mean_columns or _is_linear(sample):
        return 0
    if d > SETTINGS.square_columns:
        return d
    return 2 * d if d > SETTINGS.product_columns else d * (d + 3) // 2


def _is_linear(sample: KernelSupport) -> bool:
    """Tell whether the functions are linear, so that a model fits no other moments."""
    degree = sample.basis.map.degree
    return degree is not None and degree < 2


def matched_moments(
    sample: KernelSupport, cells: CellSupport
) -> tuple[MatchedMoments, Vector]:
    r"""Return the functions whose means are matched, and their means over the cells.

    Features are whitened, those of the kernel by the eigenvalues :math:`c` of their
    covariance, and penalised by the norm of the kernel: the ridge is :math:`\delta c_1 / c_i`.
    So are the moments of several columns, by the eigenvalues of their correlations: along
    directions that hardly vary, errors of the signed distribution are as large as the
    variation itself, and matching them would cost the moments that are well estimated.

    Parameters
    ----------
    sample : KernelSupport
        The sample.
    cells : CellSupport
        The same in cells.

    Returns
    -------
    tuple of MatchedMoments and array of shape (K, r)
        The functions, and their means over each cell.
    """
    p, points = _count_powers(sample), sample.points
    second = _second_moments(sample)
    covariance = np.diag(second) - np.multiply.outer(sample.mean, sample.mean)
    c, R = np.linalg.eigh(covariance)
    unit = max(c.max(initial=0.0), np.finfo(float).tiny)
    ranked = (c / unit).round(12)  # of equal ones, low degrees first
    order = np.argsort(-ranked, kind="stable")
    c, R = c[order], R[:, order]
    many = points.has_few_values or sample.basis.map.complete
    real = int(np.sum(c > _VANISHING * max(c[0], np.finfo(float).tiny))) if len(c) else 0
    leading = int(np.sum(c > SETTINGS.leading_variance * c.max(initial=0.0)))
    most = int(np.clip(leading, *SETTINGS.kernel_features))
    r = min(real, SETTINGS.discrete_features if many else most)
    c, R = c[:r], R[:, :r] / np.sqrt(c[:r])
    sums, own, gram = _cell_sums(sample, cells, p, R)
    mean = sums.sum(axis=0)
    centred = _centring(len(_numeric(sample)), mean[:p])
    covariance = gram - np.multiply.outer(own, own)
    A, e = _whitening(centred.T @ covariance @ centred)
    A = centred @ A
    mix = np.zeros((p + sample.rank, A.shape[1] + r))
    mix[:p, : A.shape[1]], mix[p:, A.shape[1] :] = A, R
    apart = e.max(initial=1.0) / e if points.width > 1 else np.ones_like(e)
    penalty = np.concatenate([SETTINGS.moment_ridge * apart, c[:1] / c])
    shift = np.concatenate([mean[:p], sample.mean])
    features = sums / cells.mean[:, None] - mean
    features = np.concatenate([features[:, :p] @ A, features[:, p:]], axis=1)
    return MatchedMoments(sample, shift, mix, penalty, p), features


def _second_moments(sample: KernelSupport) -> Vector:
    """Return the mean squares of the functions of the kernel."""
    found: Vector = to_numpy(sample.basis.eigenvalues) / _weight(sample.points)
    return found


def _weight(points: SupportPoints) -> float:
    """Return the weight of all points."""
    return float(points.n if points.weights is None else points.weights.sum())


def _cell_sums(
    sample: KernelSupport, cells: CellSupport, p: int, R: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return sums of powers and features over cells, and two moments of the powers.

    Where the means of all rows in the cells are known, sums are theirs. So are the moments,
    which serve to whiten the powers, where they are known; else those of the support points.
    """
    points = sample.points
    raw = MatchedMoments(sample, np.zeros(p + sample.rank), np.empty(0), np.empty(0), p)

    def block(start: int, z: Array) -> tuple[Vector, Vector]:
        part = slice(start, start + z.shape[0])
        share = points.shares[part, None]
        values = raw.raw(z)
        g = values[:, :p]
        values = np.concatenate([g, values[:, p:] @ R], axis=1)
        return cells.added(cells.cell[part], share * values), g.T @ (share * g)

    def both(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        return a[0] + b[0], a[1] + b[1]

    sums, gram = points.executor.reduce(both, block, points.rows)
    own = sums.sum(axis=0)[:p]
    known, merged = sample.cell_means, points.merged
    if merged is not None and merged.variances is not None and p > 1:
        within = points.shares * merged.variances  # the squares of all rows of a bin
        sums[:, 1] += np.bincount(cells.cell, within, cells.rank)
    if known is not None and merged is not None and merged.cells is not None:
        columns = _power_columns(sample, p, merged.cells.powers)
        if columns is not None and len(known) == cells.rank:
            values = np.concatenate([merged.cells.powers[:, columns], known @ R], axis=1)
            sums = cells.mean[:, None] * values
            products = merged.cells.products
            if products is not None and max(columns, default=0) < len(products):
                own, gram = sums.sum(axis=0)[:p], products[np.ix_(columns, columns)]
    return sums, own, gram


def _power_columns(
    sample: KernelSupport, count: int, powers: Vector | None
) -> list[int] | None:
    """Return which of the summed powers are those that are matched; None if not all are."""
    if powers is None:
        return None
    d, numeric, q = sample.points.width, _numeric(sample), powers.shape[1]
    pairs = [(numeric[i], numeric[j]) for i, j in _multiplied(len(numeric), count)]
    if q == 2 * d:
        known = all(i == j for i, j in pairs)
        found = [d + i for i, _ in pairs]
    else:
        known = q == d + d * (d + 1) // 2
        found = [d + i * d - i * (i - 1) // 2 + j - i for i, j in pairs]
    return [*numeric[: len(numeric) if count else 0], *found] if known else None


def _centring(d: int, mean: Vector) -> Vector:
    """Return the map from powers about any origin to those about the mean, but for constants.

    Parameters
    ----------
    d : int
        The number of columns.
    mean : array of shape (p,)
        The means of the powers.
    """
    found = np.eye(len(mean))
    for k, (i, j) in enumerate(_multiplied(d, len(mean)), d):
        found[i, k] -= mean[j]
        found[j, k] -= mean[i]
    return found


def _whitening(covariance: Vector) -> tuple[Vector, Vector]:
    """Return the map to uncorrelated functions of variance one, and the eigenvalues.

    These are of the matrix of correlations. Constants are left out.
    """
    unit = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = unit > 0
    scale = np.where(varies, 1 / np.where(varies, unit, 1.0), 0.0)
    values, V = np.linalg.eigh(covariance * np.multiply.outer(scale, scale))
    good = values > _SINGULAR * max(values.max(initial=0.0), np.finfo(float).tiny)
    return scale[:, None] * V[:, good] / np.sqrt(values[good]), values[good]
