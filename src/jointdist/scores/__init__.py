"""Scores of conditional distributions at observed outcomes.

The *losses* and the *calibration* of a :class:`~jointdist.Conditional` of q distributions and
of q observed outcomes are one number for each, to be averaged, weighted or resampled; the lower
a loss, the better. *Validity* measures how far signed distributions are from proper ones.
*Scorers* pass losses to scikit-learn. No function forms the weights of all distributions on
all support points.

Distributions that do not exist, as their mass is not positive, have scores of NaN. Unless a
docstring says otherwise, those of a :class:`~jointdist.ConditionalMeanEmbedding` are divided
by their mass first.
"""

from jointdist.scores.calibration import coverage, pit, width
from jointdist.scores.event_losses import brier_score, logistic_loss
from jointdist.scores.losses import crps, energy_score, log_score
from jointdist.scores.moment_loss import second_moment_loss
from jointdist.scores.quantile_losses import interval_score, pinball_loss
from jointdist.scores.reliability import Reliability, reliability_curve
from jointdist.scores.scorers import (
    DistributionScorer,
    make_distribution_scorer,
    neg_crps,
    neg_energy_score,
    neg_interval_score,
    neg_log_score,
)
from jointdist.scores.validity import (
    indefinite_share,
    negative_probability_share,
    negative_ratio_share,
    normalization_error,
)

__all__ = [
    "DistributionScorer",
    "Reliability",
    "brier_score",
    "coverage",
    "crps",
    "energy_score",
    "indefinite_share",
    "interval_score",
    "log_score",
    "logistic_loss",
    "make_distribution_scorer",
    "neg_crps",
    "neg_energy_score",
    "neg_interval_score",
    "neg_log_score",
    "negative_probability_share",
    "negative_ratio_share",
    "normalization_error",
    "pinball_loss",
    "pit",
    "reliability_curve",
    "second_moment_loss",
    "width",
]
