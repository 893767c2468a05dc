r"""What valid laws keep of signed ones: the means of some functions of Y.

First and second moments of the columns, and the leading features of the kernel, whitened.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Vector, to_numpy
from jointdist.distributions.support_points import Atoms
from jointdist.kernels import Polynomial
from jointdist.lowrank.polynomial_map import PolynomialMap
from jointdist.projection.cells import Cells

__all__ = ["Kept", "kept_functions"]

_FEATURES = 15, 30  # of a kernel, the leading ones: at least, and at most
_LEADING = 1e-3  # of the variance of the first one; if more features have it, more are kept
_MORE = 63  # of words or few values, and of polynomials
_VANISHING = 1e-10  # a feature beside the first one
_PRODUCTS = 5  # columns of which all products are kept; of more, the squares
_SQUARES = 16  # columns of which these are; of more, the means
_MEANS = 64  # columns of which these are
_MOMENTS = 1e-2  # the ridge of moments beside that of the first feature
_LARGEST = 1e5  # of a feature


@dataclass(frozen=True, eq=False)
class Kept:
    r"""Functions :math:`g` of mean zero whose means valid laws keep.

    Attributes
    ----------
    sample : Atoms
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

    sample: Atoms
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

    def ridge(self, ridge: float) -> Vector:
        """Return the ridge of each function, for one of the first feature.

        Parameters
        ----------
        ridge : float
            That of the first feature.
        """
        return np.minimum(ridge * self.penalty, _LARGEST)


def _powers(sample: Atoms, z: Vector, some: int) -> Vector:
    """Return the first powers of columns of numbers less the origin, ``(b, some)``."""
    if not some:
        return np.empty((len(z), 0))
    numbers = _numbers(sample)
    v = z[:, numbers] - sample.origin[numbers]
    products = [v[:, i] * v[:, j] for i, j in _multiplied(len(numbers), some)]
    return np.column_stack([v, *products])


def _numbers(sample: Atoms) -> list[int]:
    """Return which columns are of numbers."""
    return [i for i, known in enumerate(sample.encoding.categories) if known is None]


def _multiplied(d: int, some: int) -> list[tuple[int, int]]:
    """Return which columns are multiplied, after the d columns themselves."""
    if some in {0, d}:
        return []
    return [(i, j) for i in range(d) for j in (range(i, d) if some > 2 * d else [i])]


def _count_powers(sample: Atoms) -> int:
    """Return how many powers of columns are kept."""
    d = len(_numbers(sample))
    if sample.few or d > _MEANS or _is_linear(sample):
        return 0
    return d if d > _SQUARES else 2 * d if d > _PRODUCTS else d * (d + 3) // 2


def _is_linear(sample: Atoms) -> bool:
    """Return whether the signed law knows means, and no other moments."""
    own = sample.basis.map
    if isinstance(own, PolynomialMap):
        return own.degree < 2
    return isinstance(own.kernel, Polynomial) and own.kernel.degree < 2


def kept_functions(sample: Atoms, cells: Cells) -> tuple[Kept, Vector]:
    r"""Return the functions whose means are kept, and their means over the cells.

    Features are whitened, those of the kernel by the eigenvalues :math:`c` of their
    covariance, and penalised by the norm of the kernel: the ridge is :math:`\delta c_1 / c_i`.
    So are the moments of several columns, by the eigenvalues of their correlations: where
    these columns hardly vary together, errors of the signed law are as large as all that
    there is, and to keep them would cost the moments that are known.
    """
    p = _count_powers(sample)
    total = sample.n if sample.weights is None else sample.weights.sum()
    second = to_numpy(sample.basis.eigenvalues) / total
    covariance = np.diag(second) - np.multiply.outer(sample.mean, sample.mean)
    c, R = np.linalg.eigh(covariance)
    unit = max(c.max(initial=0.0), np.finfo(float).tiny)
    ranked = (c / unit).round(12)  # of equal ones, low degrees first
    order = np.argsort(-ranked, kind="stable")
    c, R = c[order], R[:, order]
    many = sample.few or isinstance(sample.basis.map, PolynomialMap)
    real = int(np.sum(c > _VANISHING * max(c[0], np.finfo(float).tiny))) if len(c) else 0
    leading = int(np.sum(c > _LEADING * c.max(initial=0.0)))
    r = min(real, _MORE if many else int(np.clip(leading, *_FEATURES)))
    c, R = c[:r], R[:, :r] / np.sqrt(c[:r])
    raw = Kept(sample, np.zeros(p + sample.rank), np.empty(0), np.empty(0), p)

    def block(start: int, z: Array) -> tuple[Vector, Vector]:
        own = slice(start, start + z.shape[0])
        share = cells.shares[own, None]
        values = raw.raw(z)
        g = values[:, :p]
        values = np.concatenate([g, values[:, p:] @ R], axis=1)
        return cells.added(cells.cell[own], share * values), g.T @ (share * g)

    def both(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        return a[0] + b[0], a[1] + b[1]

    sums, gram = cells.executor.reduce(both, block, cells.rows)
    mean = sums.sum(axis=0)
    centred = _centring(len(_numbers(sample)), mean[:p])
    covariance = gram - np.multiply.outer(mean[:p], mean[:p])
    A, e = _whitening(centred.T @ covariance @ centred)
    A = centred @ A
    mix = np.zeros((p + sample.rank, A.shape[1] + r))
    mix[:p, : A.shape[1]], mix[p:, A.shape[1] :] = A, R
    apart = e.max(initial=1.0) / e if sample.width > 1 else np.ones_like(e)
    penalty = np.concatenate([_MOMENTS * apart, c[:1] / c])
    shift = np.concatenate([mean[:p], sample.mean])
    features = sums / cells.mean[:, None] - mean
    features = np.concatenate([features[:, :p] @ A, features[:, p:]], axis=1)
    return Kept(sample, shift, mix, penalty, p), features


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
    good = unit > 0
    scale = np.where(good, 1 / np.where(good, unit, 1.0), 0.0)
    values, V = np.linalg.eigh(covariance * np.multiply.outer(scale, scale))
    kept = values > 1e-9 * max(values.max(initial=0.0), np.finfo(float).tiny)
    return scale[:, None] * V[:, kept] / np.sqrt(values[kept]), values[kept]
