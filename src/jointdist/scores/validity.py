"""How far signed distributions are from proper ones.

Section 5 of the paper reports these numbers. Below zero means by more than rounding.
"""

import numpy as np

from jointdist._array import Vector
from jointdist.data.events import Event
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import in_host_memory
from jointdist.scores.outcomes import distributions_of, or_nan

__all__ = [
    "indefinite_share",
    "negative_probability_share",
    "negative_ratio_share",
    "normalization_error",
]

_ROUNDING = 1e-12


def normalization_error(dist: Conditional) -> Vector:
    """Return the absolute difference of the sum of weights from one.

    The paper reports the maximum. Distributions of a joint model are divided by their mass,
    so that only rounding is left; :meth:`~jointdist.Conditional.mass` is what it was before.
    Those of a :class:`~jointdist.ConditionalMeanEmbedding` are not divided.

    Parameters
    ----------
    dist : Conditional
        The distributions.

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
    distributions_of("normalization_error", dist)
    return np.abs(in_host_memory(dist).expect(lambda y: np.ones(len(y))) - 1)


def indefinite_share(dist: Conditional) -> float:
    """Return the share of distributions with an indefinite second-moment matrix.

    A matrix is indefinite if its lowest eigenvalue is below zero by more than 1e-12 of the
    largest.

    Parameters
    ----------
    dist : Conditional
        Distributions of numbers; an embedding is not divided by its mass, which matters only if
        that is negative.

    Returns
    -------
    float
        The share, from zero to one; NaN if a distribution does not exist.

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
    d = distributions_of("indefinite_share", dist).encoding.width
    moments = dist.second_moment().reshape(-1, d, d)
    missing = moments[:, 0, 0]
    finite = np.where(np.isnan(missing)[:, None, None], 0.0, moments)
    found = np.linalg.eigvalsh(finite)
    indefinite = found[:, 0] < -_ROUNDING * np.abs(found).max(axis=1)
    return float(or_nan(indefinite, missing).mean())


def negative_probability_share(dist: Conditional, event: Event) -> float:
    """Return the share of distributions that give an event a probability below -1e-12.

    Parameters
    ----------
    dist : Conditional
        The distributions.
    event : str or callable
        As in :meth:`~jointdist.Conditional.prob`.

    Returns
    -------
    float
        The share, from zero to one; NaN if a distribution does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(20.0)
    >>> model = jd.JointDistribution(positivity="none", random_state=0).fit(y[:, None], y)
    >>> scores.negative_probability_share(model.given([[2.0], [4.0]]), lambda y: y == 0)
    0.5
    """
    distributions_of("negative_probability_share", dist)
    chance = in_host_memory(dist).prob(event)
    return float(or_nan(chance < -_ROUNDING, chance).mean())


def negative_ratio_share(dist: Conditional) -> float:
    r"""Return the share of negative ratios :math:`1 + h`, over distributions and points.

    A ratio below -1e-12 counts as negative. Support points count by their weight in the
    sample. Costs a scan
    over all of them; :meth:`~jointdist.Conditional.negative_share` is the negative weight.

    Parameters
    ----------
    dist : Conditional
        The distributions.

    Returns
    -------
    float
        The share, from zero to one; NaN if a distribution does not exist.

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
    dists = distributions_of("negative_ratio_share", dist)
    return float(dists.negative_ratios(-_ROUNDING).mean())
