"""Validity: how far laws are from probabilities.

Section 5 of the paper reports these numbers. Below zero means by more than rounding.
"""

from collections.abc import Callable
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Array, Vector
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.support_points import Atoms
from jointdist.distributions.weights import slices
from jointdist.scores.outcomes import laws_of, or_nan

__all__ = [
    "indefinite_share",
    "negative_probability_share",
    "negative_ratio_share",
    "normalization_error",
]

_ROUNDING = 1e-12


def normalization_error(dist: Conditional) -> Vector:
    """Return by how much the weights of each law do not sum to one.

    The paper reports the maximum. Laws of a joint distribution are divided by their mass,
    so that only rounding is left; :meth:`~jointdist.Conditional.mass` tells what they were
    before. Those of a :class:`~jointdist.ConditionalMeanEmbedding` are not.

    Parameters
    ----------
    dist : Conditional
        The laws.

    Returns
    -------
    array of shape (q,)
        The errors, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> from jointdist.kernels import Gaussian
    >>> y = np.arange(20.0)
    >>> kernels = Gaussian(5.0), Gaussian(5.0)
    >>> model = jd.ConditionalMeanEmbedding(*kernels, positivity="none")
    >>> dist = model.fit(y[:, None], y).given([[10.0], [100.0]])
    >>> scores.normalization_error(dist).round(1)
    array([0., 1.])
    """
    laws_of("normalization_error", dist)
    return np.abs(dist.expect(lambda y: np.ones(len(y))) - 1)


def indefinite_share(dist: Conditional) -> float:
    """Return the share of laws whose second-moment matrix is not positive semidefinite.

    One is not if its lowest eigenvalue is below zero by more than 1e-12 of the largest.

    Parameters
    ----------
    dist : Conditional
        Laws of numbers; an embedding is not divided by its mass, which matters only if
        that is negative.

    Returns
    -------
    float
        The share, from zero to one; NaN if one of the laws does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> Y = np.random.default_rng(0).normal(size=(50, 2))
    >>> dist = jd.JointDistribution().fit(Y, Y).marginal("y")
    >>> scores.indefinite_share(dist)
    0.0
    """
    d = laws_of("indefinite_share", dist).atoms.width
    moments = dist.second_moment().reshape(-1, d, d)
    missing = moments[:, 0, 0]
    known = np.where(np.isnan(missing)[:, None, None], 0.0, moments)
    found = np.linalg.eigvalsh(known)
    indefinite = found[:, 0] < -_ROUNDING * np.abs(found).max(axis=1)
    return float(or_nan(indefinite, missing).mean())


def negative_probability_share(
    dist: Conditional, event: Callable[[Any], ArrayLike]
) -> float:
    """Return the share of laws that give an event a probability below -1e-12.

    Parameters
    ----------
    dist : Conditional
        The laws.
    event : callable
        As in :meth:`~jointdist.Conditional.prob`.

    Returns
    -------
    float
        The share, from zero to one; NaN if one of the laws does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> from jointdist.kernels import Gaussian
    >>> y = np.arange(5.0)
    >>> model = jd.JointDistribution(
    ...     Gaussian(1.0), Gaussian(1.0), regularization=0.01, positivity="none"
    ... )
    >>> dist = model.fit(y[:, None], y).given([[2.0], [2.0], [4.0]])
    >>> round(scores.negative_probability_share(dist, lambda y: y == 0), 6)
    0.666667
    """
    laws_of("negative_probability_share", dist)
    chance = dist.prob(event)
    return float(or_nan(chance < -_ROUNDING, chance).mean())


def negative_ratio_share(dist: Conditional) -> float:
    r"""Return the share of negative ratios :math:`1 + h`, of all laws on all atoms.

    Below -1e-12, that is. Atoms count by their weight in the sample. Costs a scan over
    all atoms; :meth:`~jointdist.Conditional.negative_share` tells how much weight it is.

    Parameters
    ----------
    dist : Conditional
        The laws.

    Returns
    -------
    float
        The share, from zero to one; NaN if one of the laws does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> from jointdist.kernels import Gaussian
    >>> y = np.arange(5.0)
    >>> model = jd.JointDistribution(
    ...     Gaussian(1.0), Gaussian(1.0), regularization=0.01, positivity="none"
    ... ).fit(y[:, None], y)
    >>> round(scores.negative_ratio_share(model.given([[2.0]])), 6)
    0.4
    >>> scores.negative_ratio_share(model.refit(positivity="projected").given([[2.0]]))
    0.0
    """
    dists = laws_of("negative_ratio_share", dist)
    atoms = dists.atoms

    def share(t: Vector, _mass: Vector, _: slice) -> Vector:
        parts = slices(min(atoms.executor.block_rows, atoms.n), len(t))
        return np.concatenate([_negative(atoms, t[own]) for own in parts])

    return float(dists.each(share).mean())


def _negative(atoms: Atoms, t: Vector) -> Vector:
    """Return the weight in the sample of the atoms at which each ratio is negative."""

    def block(start: int, z: Array) -> Vector:
        negative = atoms.ratio(start, z, t) < -_ROUNDING
        share: Vector = atoms.shares[start : start + len(negative)] @ negative
        return share

    return atoms.executor.reduce(add, block, atoms.rows)
