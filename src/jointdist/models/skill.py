"""The skill of distributions: their mean score beside that of the observed outcomes."""

from collections.abc import Callable

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.sample import Sample
from jointdist.distributions.protocols import Distributions

__all__ = ["mean_skill"]


def mean_skill(
    dists: Distributions, marginal_scores: Callable[[Vector], Vector], sample: Sample
) -> float:
    """Return one minus the mean energy score over that of the observed outcomes.

    Parameters
    ----------
    dists : Distributions
        The distributions.
    marginal_scores : callable
        From outcomes to the scores of the observed outcomes there.
    sample : Sample
        Rows and outcomes, encoded, with weights.
    """
    points, w = to_numpy(sample.y.read(0, sample.n)), sample.weights
    own = float(np.average(dists.energy_scores(points)[0], weights=w))
    marginal = float(np.average(marginal_scores(points), weights=w))
    if marginal <= 0:  # outcomes are constant: there is nothing to forecast
        return 1.0 if own <= 0 else 0.0
    return 1 - own / marginal
