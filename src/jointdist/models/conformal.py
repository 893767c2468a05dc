"""Split-conformal calibration of any estimator of scalar conditional distributions."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Index, Vector
from jointdist._rules import Seed, Text, generator, is_number, require
from jointdist.data.encoding import Encoding
from jointdist.data.executor import executor_for, progress
from jointdist.data.sample import Sample
from jointdist.data.table import as_weights
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.support_points import SupportPoints
from jointdist.errors import warn_user
from jointdist.models._arguments import read_pair, y_for_Y
from jointdist.models._fitted_state import FittedState
from jointdist.models.held_back import (
    calibration_weights,
    folds_of,
    held_back,
    with_splits_of,
)
from jointdist.models.marginal_points import marginal_points
from jointdist.projection.recalibration import Recalibration, proper, recalibrated
from jointdist.scores.calibration import pit
from jointdist.scores.losses import crps
from jointdist.scores.outcomes import outcomes_of, require_column

__all__ = ["ConformalCalibration"]

_NAME = "ConformalCalibration"
_BLOCK = 4096  # rows held back that are worked on before progress is shown


class ConformalCalibration(RegressorMixin, FittedState):
    r"""Conditional distributions with finite-sample marginal coverage, of any estimator.

    Split-conformal calibration: a clone of the estimator is fitted to some of the rows. The
    distributions that it gives to the others, the calibration rows, have cdfs :math:`F_i`, and
    the observed outcomes have levels :math:`F_i(y_i)`, at random within jumps. With the cdf
    :math:`G` of these levels, linear between them, the distribution of a new row is the one
    whose cdf is :math:`G(F(y))`.

    For a new row that is exchangeable with the calibration rows, the outcome is in
    ``given(x).interval(level)`` with at least the probability ``level``: in finite samples,
    for any data, and however wrong the estimator. This is an average over x. It is exceeded by
    at most ``2 / (k + 1)`` for k calibration rows if distributions are continuous, and by the
    weight of a support point more if not. All other questions are answered by the
    recalibrated distribution. Signed distributions are made proper first, by the running
    maximum of their cdf.

    Calibration rows are random ones, or random groups if ``fit`` gets ``groups``. If the folds
    of the estimator are those of time, they are the last rows; if it has a splitter or splits,
    those that the last split holds out, and the clone is fitted to the others of this split.

    Parameters
    ----------
    estimator : estimator
        One with ``given``, for a Y of one column of numbers.
    share : float, default=0.2
        The share of the rows used for calibration, between zero and one.
    random_state : int, Generator, RandomState, optional
        The seed of the choice of rows, and of levels within jumps.

    Attributes
    ----------
    estimator_ : estimator
        The clone, fitted.
    recalibration_ : Recalibration
        The levels of the outcomes of the calibration rows, and G.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X is a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 1))
    >>> y = x[:, 0] + rng.normal(size=1000)
    >>> flat = jd.JointDistribution(regularization=1.0, random_state=0)  # knows little of x
    >>> model = jd.ConformalCalibration(flat, random_state=0).fit(x, y)
    >>> low, high = model.given([[0.0]]).interval(0.9)[0]
    >>> bool(low < -1.64 and high > 1.64)
    True
    """

    estimator_: Any
    recalibration_: Recalibration
    _marginal: SupportPoints

    def __init__(
        self, estimator: Any, *, share: float = 0.2, random_state: Seed = None
    ) -> None:
        self.estimator = estimator
        self.share = share
        self.random_state = random_state

    @y_for_Y
    def fit(
        self, X: object, Y: object, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Fit a clone of the estimator to some rows, and calibrate it with the others.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d_x)
            The rows of X.
        Y : array, Series or sequence of shape (n,)
            The rows of Y, numbers.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a row of weight two counts as two rows, in the fit and in
            the calibration. Rows of weight zero are ignored. Coverage is that of rows drawn
            by their weights, and no longer guaranteed in finite samples.
        groups : array, Series or sequence of shape (n,), optional
            The group of each row. Calibration rows are whole groups, each of which counts as
            one row: coverage is that of rows of new groups, if groups are exchangeable. The
            estimator gets the groups of its rows.

        Returns
        -------
        ConformalCalibration
            The model itself.
        """
        self._check()
        rng = generator(_NAME, self.random_state)
        sample, encoding = _read(self.estimator, X, Y, sample_weight, groups)
        rows, held = self._split(sample, rng)
        train, calibration = sample.take(rows), sample.take(held)
        given: dict[str, Any] = {}
        if train.weights is not None:
            given["sample_weight"] = train.weights
        if groups is not None and train.folds is not None:
            given["groups"] = train.folds.groups
        model = with_splits_of(clone(self.estimator), train)
        model.fit(_part(X, rows), _part(Y, rows), **given)
        levels = _levels(model, X, Y, held, rng)
        recalibration = _recalibration(levels, calibration_weights(calibration))
        marginal = marginal_points(train, encoding, executor_for(train.y), 0)
        learned = {"estimator_": model, "recalibration_": recalibration}
        return self._set_fitted(learned | {"_marginal": marginal})

    def given(self, x: object) -> Conditional:
        """Return the recalibrated distributions of Y given rows of X.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d_x)
            Conditions on X; a vector if X has one column.
        """
        check_is_fitted(self)
        base = _proper(self.estimator_, x).parts
        found = recalibrated(base.distributions, self.recalibration_, base.index)
        return self._answer(found)

    def predict(self, X: object) -> Any:
        """Return the conditional means of Y.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        """
        return self.given(X).mean()

    @y_for_Y
    def score(  # pyrefly: ignore[bad-override]  # Y, not y
        self, X: object, Y: object, sample_weight: object = None
    ) -> float:
        """Return the CRPS skill: one minus the CRPS over that of the marginal distribution.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        Y : array, Series or sequence of shape (q,)
            The observed outcomes.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        dist = self.given(X)
        pairs = outcomes_of(f"{_NAME}.score", dist, Y, "Y")
        weights = as_weights(sample_weight, pairs.rows)
        score = np.average(crps(dist, Y), weights=weights)
        scores = marginal_scores(self._marginal, pairs.points)
        marginal = np.average(scores, weights=weights)
        if marginal <= 0:  # all outcomes are equal to all of the sample
            return 1.0 if score <= 0 else 0.0
        return float(1 - score / marginal)

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""
        found: int = self.estimator_.n_features_in_
        return found

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns of X, if it is a DataFrame."""
        names: NDArray[Any] = self.estimator_.feature_names_in_
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.regressor_tags.poor_score = True  # a skill of 0.5 is much, unlike an R² of it
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = getattr(self.estimator, "missing", "error") == "allow"
        return tags

    def _check(self) -> None:
        ok = hasattr(self.estimator, "given") and hasattr(self.estimator, "fit")
        rule, got = "an estimator with `given`", Text(type(self.estimator).__name__)
        require(ok, _NAME, "estimator", rule, got)
        ok = is_number(self.share, least=0, below=1) and self.share > 0
        require(ok, _NAME, "share", "a number between 0 and 1", self.share)

    def _split(self, sample: Sample, rng: np.random.Generator) -> tuple[Index, Index]:
        """Return the training and calibration rows; copies of a row stay together.

        And so do the rows of a group. In time, the last rows are for calibration.
        """
        if sample.folds is not None:
            return held_back(_NAME, self.estimator, sample, self.share, rng)
        counted = np.arange(sample.n)
        if sample.weights is not None:
            counted = np.flatnonzero(sample.weights)
        used = sample.counted
        groups = np.arange(len(counted))
        if not used.distinct and (equal := used.duplicates).copied:
            groups = equal.which
        order = rng.permutation(int(groups.max(initial=-1)) + 1)
        held = int(np.ceil(self.share * len(order)))
        got = Text(f"{len(order)} sample{'s' * (len(order) != 1)}")
        rule = "of rows enough to hold some back"
        require(held < len(order), _NAME, "X", rule, got)
        out = np.isin(groups, order[:held])
        return counted[~out], counted[out]


def _proper(model: Any, x: object) -> Conditional:
    """Return proper distributions of a fitted estimator."""
    dist = model.given(x)
    return Conditional(proper(require_column(_NAME, dist)), index=dist.parts.index)


def _read(
    estimator: Any, X: object, Y: object, sample_weight: object, groups: object
) -> tuple[Sample, Encoding]:
    """Return the rows, checked, and the column of Y."""
    cv = folds_of(estimator)
    pair = read_pair(_NAME, X, Y, sample_weight, None, cv=cv, groups=groups)
    encoding = pair.encodings[1]
    got = "categories" if encoding.width == 1 else f"{encoding.width} columns"
    scalar = encoding.width == 1 and encoding.numeric
    require(scalar, _NAME, "Y", "one column of numbers", Text(got))
    if getattr(Y, "ndim", 1) == 2:
        msg = f"A column-vector y was passed when a 1d array was expected by {_NAME}."
        warn_user(msg, DataConversionWarning)
    return pair.sample, encoding


def _levels(
    model: Any, X: object, Y: object, held: Index, rng: np.random.Generator
) -> Vector:
    """Return the levels of outcomes in their distributions, block by block."""
    verbose, found = int(bool(getattr(model, "verbose", 1))), []
    with progress(f"{_NAME}: rows held back", verbose=verbose) as tell:
        for start in range(0, len(held), _BLOCK):
            rows = held[start : start + _BLOCK]
            tell(start / len(held), f"{start} of {len(held)}")
            dist = _proper(model, _part(X, rows))
            found.append(pit(dist, _part(Y, rows), random_state=rng))
    return np.concatenate(found)


def _recalibration(levels: Vector, weights: Vector | None) -> Recalibration:
    """Return the recalibration by levels; NaN where there is no distribution."""
    exist = ~np.isnan(levels)
    rule = "rows at some of which there is a distribution"
    require(exist.any(), _NAME, "X", rule, Text("none"))
    return Recalibration.of(levels[exist], None if weights is None else weights[exist])


def _part(table: Any, rows: Index) -> Any:
    """Return some rows of a table, as one of the same kind."""
    indexed = table if hasattr(table, "__getitem__") else np.asarray(table)
    return _safe_indexing(indexed, rows)
