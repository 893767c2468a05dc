r"""Gaussian kernel density estimates with Silverman's bandwidth.

The density of a signed distribution is :math:`p(y) (1 + h(x, y)) / \text{mass}`, where
:math:`p` is a kernel density estimate of the sample. The density of a proper distribution is
a kernel density estimate of its own weights; both use the functions of this file.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector

__all__ = [
    "KernelDensity",
    "gaussian_bells",
    "gaussian_exponents",
    "kernel_density",
    "mixture_density",
    "silverman_widths",
    "spread_between",
]

_QUARTILES = 1.349  # the interquartile range of a normal distribution of variance one

_MANY = 8192  # points, above which they are binned or drawn: a memory budget, with _BLOCK
_BINS = 50  # a bandwidth: binning adds at most (1/100)² to its square, by theory
_BLOCK = 256  # points evaluated at a time: their distances to all centres take 16 MB
_WIDTHS = 10.0  # beyond which a Gaussian is at most exp(-50)
_FAR = 1e-11  # and negligible beside a density of this height
_ROUNDING = 1e-12  # of sums of weights


@dataclass(frozen=True, slots=True, eq=False)
class KernelDensity:
    """A mixture of Gaussians with a common diagonal covariance.

    Attributes
    ----------
    centres : array of shape (k, d)
        The centres, sorted by the first column.
    shares : array of shape (k,)
        Their weights, of sum one.
    widths : array of shape (d,)
        The standard deviations: the bandwidths.
    """

    centres: Vector
    shares: Vector
    widths: Vector

    def at(self, points: Vector) -> Vector:
        """Return the density at points of shape ``(k, d)``."""
        found = np.zeros(len(points))
        order = np.argsort(points[:, 0])
        for start in range(0, len(points), _BLOCK):
            block = order[start : start + _BLOCK]
            near = self._near(points[block[[0, -1]], 0])
            found[block] = self._sums(points[block], near)
        far = np.flatnonzero(found < _FAR)
        for start in range(0, len(far), _BLOCK):
            block = far[start : start + _BLOCK]
            found[block] = self._sums(points[block], slice(None))
        found /= self._volume
        return found

    def around(self, centres: Vector, points: Vector) -> Vector:
        """Return the density at points of one Gaussian around each centre, ``(k, c)``."""
        bells = gaussian_exponents(points, centres, self.widths**2)
        return np.exp(bells, out=bells) / self._volume

    @property
    def _volume(self) -> float:
        return float(np.prod(np.sqrt(2 * np.pi) * self.widths))

    def _near(self, ends: Vector) -> slice:
        """Return the centres that matter between two values of the first column."""
        reach = _WIDTHS * self.widths[0]
        limits = [ends[0] - reach, ends[1] + reach]
        first, last = np.searchsorted(self.centres[:, 0], limits)
        return slice(int(first), int(last))

    def _sums(self, points: Vector, chosen: slice) -> Vector:
        bells = gaussian_exponents(points, self.centres[chosen], self.widths**2)
        sums: Vector = np.exp(bells, out=bells) @ self.shares[chosen]
        return sums


def gaussian_exponents(points: Vector, centres: Vector, variances: Vector) -> Vector:
    """Return the exponents of Gaussian densities, without their normalisation, ``(k, c)``.

    Parameters
    ----------
    points : array of shape (k, d)
        Where the densities are evaluated.
    centres : array of shape (c, d)
        The means of the Gaussians.
    variances : array of shape (d,) or (c, d)
        The variances of the columns, common or of each Gaussian.
    """
    found = np.zeros((len(points), len(centres)))
    for z, centre, variance in zip(points.T, centres.T, variances.T, strict=True):
        found += (z[:, None] - centre) ** 2 / variance
    found *= -0.5
    return found


def gaussian_bells(points: Vector, centres: Vector, variances: Vector) -> Vector:
    """Return Gaussian densities at points, ``(k, c)``.

    Parameters
    ----------
    points : array of shape (k, d)
        The points.
    centres, variances : arrays of shape (c, d)
        The means and the variances of the columns of each Gaussian.
    """
    bells = gaussian_exponents(points, centres, variances)
    bells -= 0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    return np.exp(bells, out=bells)


def mixture_density(
    points: Vector, centres: Vector, variances: Vector, weights: Vector, *, log: bool
) -> Vector:
    """Return the density of a mixture of Gaussians at points ``(k,)``, or its logarithm.

    Parameters
    ----------
    points : array of shape (k, d)
        The points.
    centres, variances : arrays of shape (c, d)
        The means and the variances of the columns of each Gaussian.
    weights : array of shape (c,)
        The weights of the Gaussians.
    log : bool
        Whether the logarithm is returned: minus infinity where there is no density.
    """
    bells = gaussian_exponents(points, centres, variances)
    bells -= 0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    found: Vector
    if not log:
        found = np.exp(bells, out=bells) @ weights
        return found
    with np.errstate(divide="ignore"):  # of no weight, and at infinity
        bells += np.log(weights)
        top = bells.max(axis=1)
        top = np.where(np.isfinite(top), top, 0.0)
        found = np.log(np.exp(bells - top[:, None]).sum(axis=1)) + top
    return found


def spread_between(quartiles: Vector, variances: Vector) -> Vector:
    """Return the spreads of Silverman's rule: by quartiles or variances, the smaller one.

    Parameters
    ----------
    quartiles : array of shape (q, 2, d)
        The lower and upper quartiles of the columns.
    variances : array of shape (q, d)
        Their variances.
    """
    low, high = np.moveaxis(quartiles, 1, 0)
    apart, spread = (high - low) / _QUARTILES, np.sqrt(variances)
    return np.where(apart > 0, np.minimum(apart, spread), spread)


def silverman_widths(spread: Vector, size: Vector, d: int) -> Vector:
    """Return the bandwidths of Silverman's rule, for one column or for several.

    Parameters
    ----------
    spread : array of shape (..., d)
        The standard deviations of the columns.
    size : array of shape (..., 1), or number
        The effective number of points.
    d : int
        The number of columns.
    """
    found: Vector
    if d == 1:
        found = 0.9 * spread * size ** (-1 / 5)
    else:
        found = spread * (size * (d + 2) / 4) ** (-1 / (d + 4))
    return found


def kernel_density(z: Vector, w: Vector, size: float | None = None) -> KernelDensity:
    """Return the kernel density estimate of weighted points.

    Of more than 8,192 points, those of one column are put into bins of a fiftieth of the
    bandwidth; of several columns, 8,192 are drawn at random.

    Parameters
    ----------
    z : array of shape (n, d)
        The points; no column is constant.
    w : array of shape (n,)
        Their weights, of sum one.
    size : float, optional
        The effective number of rows that they stand for; by default that of the weights.
    """
    n, d = z.shape
    size = 1 / float(np.sum(w * w)) if size is None else size
    centre = w @ z
    spread = np.sqrt(w @ (z - centre) ** 2)
    spread = np.minimum(
        spread, [_interquartile_range(column, w) / _QUARTILES for column in z.T]
    )
    widths = silverman_widths(spread, np.array(size), d)
    if n > _MANY and d == 1:
        z, w = _binned(z[:, 0], w, widths[0] / _BINS)
    elif n > _MANY:
        chosen = np.random.default_rng(0).choice(n, _MANY, p=w)
        z, w = z[chosen], np.full(_MANY, 1 / _MANY)
    order = np.argsort(z[:, 0], kind="stable")
    return KernelDensity(z[order], w[order], widths)


def _interquartile_range(z: Vector, w: Vector) -> float:
    """Return the interquartile range; where it is zero, a range that leaves out less."""
    order = np.argsort(z)
    reached = np.cumsum(w[order])
    for tail in (0.25, 0.05, 0.0):
        low, high = np.searchsorted(reached, np.array([tail, 1 - tail]) - _ROUNDING)
        apart = float(z[order[min(high, len(z) - 1)]] - z[order[low]])
        if apart > 0:
            return apart
    return float("inf")


def _binned(z: Vector, w: Vector, width: float) -> tuple[Vector, Vector]:
    """Return the means and the weights of the points in bins of equal width."""
    which = np.unique(np.floor(z / width), return_inverse=True)[1]
    weight: Vector = np.bincount(which, w).astype(np.float64)
    used = weight > 0
    centres = np.bincount(which, w * z)[used] / weight[used]
    return centres[:, None], weight[used]
