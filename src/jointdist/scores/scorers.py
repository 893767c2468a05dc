"""Scorers: what scikit-learn chooses models by. The greater, the better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist.data.table import as_weights
from jointdist.distributions.conditional import Conditional
from jointdist.errors import Text, require
from jointdist.scores.losses import crps, energy_score, interval_score, log_score
from jointdist.scores.outcomes import outcomes_of

__all__ = [
    "LawScorer",
    "make_distribution_scorer",
    "neg_crps",
    "neg_energy_score",
    "neg_interval_score",
    "neg_log_score",
]


@dataclass(frozen=True, eq=False, repr=False)
class LawScorer:
    """The mean score of the laws of an estimator, as a scorer of scikit-learn.

    Made by :func:`make_law_scorer`.

    Attributes
    ----------
    score : callable
        From laws and outcomes to a score for each.
    options : mapping
        Its other arguments.
    sign : int
        Minus one for losses, else one.
    """

    score: Callable[..., Any]
    options: Mapping[str, Any]
    sign: int

    def __call__(
        self, estimator: Any, X: Any, y: object, sample_weight: object = None
    ) -> float:
        """Return the mean score of an estimator, made such that greater is better.

        Parameters
        ----------
        estimator : estimator
            A fitted model of laws, a pipeline that ends in one, or a search for the best.
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        y : array, DataFrame or sequence of shape (q,) or (q, d)
            What came of them.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        dist = _law(estimator, X)
        weights = as_weights(sample_weight, outcomes_of(repr(self), dist, y).rows)
        found = np.average(self.score(dist, y, **self.options), axis=0, weights=weights)
        return self.sign * float(np.mean(found))

    def __repr__(self) -> str:
        told = [getattr(self.score, "__name__", repr(self.score))]
        told += ["greater_is_better=True"] * (self.sign > 0)
        told += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"make_law_scorer({', '.join(told)})"


def make_distribution_scorer(
    score: Callable[..., Any], *, greater_is_better: bool = False, **options: Any
) -> LawScorer:
    """Make a scorer of a score of laws, for ``scoring`` in scikit-learn.

    It scores the models of this library that have laws ``given`` rows, by themselves, at
    the end of a pipeline or in a search. It is NaN if one of the laws does not exist.

    Parameters
    ----------
    score : callable
        From laws and outcomes to a score for each law, such as :func:`pinball_loss`.
    greater_is_better : bool, default=False
        Whether it is one of which more is better, not a loss.
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
    make_law_scorer(pinball_loss, levels=0.9)
    >>> found = cross_val_score(jd.JointDistribution(random_state=0), X, y, scoring=upper)
    >>> found.shape, bool((found < 0).all())
    ((5,), True)
    """
    require(callable(score), "make_distribution_scorer", "score", "a function", score)
    return LawScorer(score, options, 1 if greater_is_better else -1)


neg_crps = make_distribution_scorer(crps)
neg_energy_score = make_distribution_scorer(energy_score)
neg_interval_score = make_distribution_scorer(interval_score)
neg_log_score = make_distribution_scorer(log_score)


def _law(estimator: Any, X: Any) -> Conditional:
    """Return the laws of an estimator, in a search and behind the steps of a pipeline."""
    from sklearn.pipeline import Pipeline  # noqa: PLC0415  # takes a second

    model = getattr(estimator, "best_estimator_", estimator)
    if isinstance(model, Pipeline):
        before = model[:-1]
        return _law(model[-1], before.transform(X) if len(before) else X)
    rule = "a model that has laws `given` rows, or a pipeline or search with one"
    known = callable(getattr(model, "given", None))
    require(
        known, "make_distribution_scorer", "estimator", rule, Text(type(model).__name__)
    )
    dist: Conditional = model.given(X)
    return dist
