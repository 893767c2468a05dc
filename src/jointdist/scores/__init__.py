"""How good laws are: scores of conditional laws and of what came of them.

The *losses* and the *calibration* of a :class:`~jointdist.Conditional` of q laws and of q
outcomes are one number a law, to be averaged, weighted or resampled; the lower a loss, the
better. *Validity* tells how far signed laws are from probabilities. *Scorers* make losses
known to scikit-learn. No function forms the weights of all laws on all atoms.

Laws that do not exist, as their mass is not positive, have scores of NaN. Unless a
docstring says otherwise, those of a :class:`~jointdist.ConditionalMeanEmbedding` are
divided by their mass first.
"""

from jointdist.scores.calibration import (
    Reliability,
    coverage,
    pit,
    reliability_curve,
    width,
)
from jointdist.scores.losses import (
    brier_score,
    crps,
    energy_score,
    interval_score,
    log_score,
    logistic_loss,
    pinball_loss,
    second_moment_loss,
)
from jointdist.scores.scorers import (
    LawScorer,
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
    "LawScorer",
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
