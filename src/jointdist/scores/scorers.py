"""Scorers for scikit-learn's model selection: the greater, the better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._rules import Text, require
from jointdist.data.table import as_weights
from jointdist.distributions.conditional import Conditional
from jointdist.scores.losses import crps, energy_score, log_score
from jointdist.scores.outcomes import outcomes_of
from jointdist.scores.quantile_losses import interval_score

__all__ = [
    "DistributionScorer",
    "make_distribution_scorer",
    "neg_crps",
    "neg_energy_score",
    "neg_interval_score",
    "neg_log_score",
]


@dataclass(frozen=True, eq=False, repr=False)
class DistributionScorer:
    """A scorer for scikit-learn: the mean score of an estimator's distributions.

    Ready-made are ``neg_crps``, ``neg_energy_score``, ``neg_interval_score`` (of the central
    90 % interval) and ``neg_log_score``: losses with a minus sign, so that greater is better.
    :func:`make_distribution_scorer` makes others.

    Attributes
    ----------
    score : callable
        From distributions and outcomes to a score for each.
    options : mapping
        Its other arguments.
    sign : int
        Minus one for losses, else one.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 300))
    >>> model = jd.JointDistribution(random_state=0)
    >>> found = cross_val_score(model, x[:, None], x + noise, scoring=jd.scores.neg_crps)
    >>> found.round(1)  # minus the mean CRPS in each of five folds
    array([-0.5, -0.6, -0.6, -0.6, -0.5])
    """

    score: Callable[..., Any]
    options: Mapping[str, Any]
    sign: int

    def __call__(
        self, estimator: Any, X: Any, y: object, sample_weight: object = None
    ) -> float:
        """Return the mean score of an estimator, with a sign such that greater is better.

        Parameters
        ----------
        estimator : estimator
            A fitted model with ``given``, a pipeline that ends in one, or a search.
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        y : array, DataFrame or sequence of shape (q,) or (q, d)
            The observed outcomes.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        dist = _given(estimator, X)
        weights = as_weights(sample_weight, outcomes_of(repr(self), dist, y).rows)
        found = np.average(self.score(dist, y, **self.options), axis=0, weights=weights)
        return self.sign * float(np.mean(found))

    def __repr__(self) -> str:
        parts = [getattr(self.score, "__name__", repr(self.score))]
        parts += ["greater_is_better=True"] * (self.sign > 0)
        parts += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"make_distribution_scorer({', '.join(parts)})"


def make_distribution_scorer(
    score: Callable[..., Any], *, greater_is_better: bool = False, **options: Any
) -> DistributionScorer:
    """Make a scorer from a score of distributions, for ``scoring`` in scikit-learn.

    It scores the models of this library that have a method ``given``, by themselves, at the
    end of a pipeline or in a search. It is NaN if a distribution does not exist.

    Parameters
    ----------
    score : callable
        From distributions and outcomes to a score for each, such as :func:`pinball_loss`.
    greater_is_better : bool, default=False
        Whether a greater score is better, as of a skill; a loss is not.
    **options
        Other arguments of the score.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=300)
    >>> upper = scores.make_distribution_scorer(scores.pinball_loss, levels=0.9)
    >>> upper
    make_distribution_scorer(pinball_loss, levels=0.9)
    >>> found = cross_val_score(jd.JointDistribution(random_state=0), X, y, scoring=upper)
    >>> found.shape, bool((found < 0).all())
    ((5,), True)
    """
    require(callable(score), "make_distribution_scorer", "score", "a function", score)
    return DistributionScorer(score, options, 1 if greater_is_better else -1)


neg_crps = make_distribution_scorer(crps)
neg_energy_score = make_distribution_scorer(energy_score)
neg_interval_score = make_distribution_scorer(interval_score)
neg_log_score = make_distribution_scorer(log_score)


def _given(estimator: Any, X: Any) -> Conditional:
    """Return the distributions of an estimator, also in a search or a pipeline."""
    from sklearn.pipeline import Pipeline  # noqa: PLC0415  # takes a second

    model = getattr(estimator, "best_estimator_", estimator)
    if isinstance(model, Pipeline):
        before = model[:-1]
        return _given(model[-1], before.transform(X) if len(before) else X)
    rule = "a model with a method `given`, or a pipeline or search with one"
    ok, got = callable(getattr(model, "given", None)), Text(type(model).__name__)
    require(ok, "make_distribution_scorer", "estimator", rule, got)
    dist: Conditional = model.given(X)
    return dist
