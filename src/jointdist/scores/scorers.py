"""Scorers for scikit-learn's model selection: the greater, the better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from jointdist._rules import require
from jointdist.data.table import as_weights
from jointdist.distributions.last_step import last_step
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
    scikit-learn knows them by name. :func:`make_distribution_scorer` makes others.

    Attributes
    ----------
    score : callable
        From distributions and outcomes to a score for each.
    options : mapping
        Its other arguments.
    sign : int
        Minus one for losses, else one.
    requested : bool, str or None
        Whether it asks for weights where scikit-learn routes metadata.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 300))
    >>> model = jd.JointDistribution(random_state=0)
    >>> found = cross_val_score(model, x[:, None], x + noise, scoring="neg_crps")
    >>> found.round(1)  # minus the mean CRPS in each of five folds
    array([-0.5, -0.6, -0.6, -0.6, -0.5])
    """

    score: Callable[..., Any]
    options: Mapping[str, Any]
    sign: int
    requested: bool | str | None = None

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
        asked = last_step("make_distribution_scorer", estimator)
        dist = asked.model.given(asked.transformed(X))
        weights = as_weights(sample_weight, outcomes_of(repr(self), dist, y).rows)
        found = np.average(self.score(dist, y, **self.options), axis=0, weights=weights)
        return self.sign * float(np.mean(found))

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Return the scorer with or without a request for weights.

        It matters only if metadata routing of scikit-learn is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            Whether weights are passed to the scorer, or the name by which they are passed;
            with None they must not be passed.
        """
        return replace(self, requested=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return the request for weights, as metadata routing of scikit-learn needs it."""
        from sklearn.utils.metadata_routing import MetadataRequest  # noqa: PLC0415

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.requested)
        return request

    def _accept_sample_weight(self) -> bool:
        """Tell scikit-learn that weights of a search are weights of the score as well."""
        return True

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
    >>> X = rng.normal(size=(100, 1))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=100)
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
