"""Split-conformal calibration of any estimator of scalar laws."""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Index, Vector, to_numpy
from jointdist._params import NestedParameters
from jointdist._random import Seed, generator
from jointdist.data.encoding import learn_encoding
from jointdist.data.sample import Sample
from jointdist.data.table import as_weights
from jointdist.distributions.conditional import Conditional
from jointdist.errors import Text, is_number, require
from jointdist.models._arguments import y_for_Y
from jointdist.projection.recalibration import Recalibrated, Recalibration, valid
from jointdist.scores.calibration import pit
from jointdist.scores.losses import crps
from jointdist.scores.outcomes import outcomes_of, require_column

__all__ = ["ConformalCalibration"]

_NAME = "ConformalCalibration"


class ConformalCalibration(RegressorMixin, NestedParameters, BaseEstimator):
    r"""Laws whose intervals cover at least as often as they say, whatever the estimator.

    A clone of the estimator is fitted to some of the rows. The laws that it gives to the
    others have cdfs :math:`F_i`, and the outcomes there have levels :math:`F_i(y_i)`, at
    random within jumps. With the cdf :math:`G` of these levels, linear between them, the law
    of a new row is the one whose cdf is :math:`G(F(y))`.

    For a new row that is exchangeable with those held back, the outcome is in
    ``given(x).interval(level)`` with at least the probability ``level``: in finite samples,
    for any data, and however wrong the estimator. This is an average over x. It is exceeded by
    at most ``2 / (k + 1)`` for k rows held back if laws are continuous, and by what an atom
    weighs more if not. All else that laws are asked is answered by the recalibrated law.
    Signed laws are made valid first, by the running maximum of their cdf.

    Parameters
    ----------
    estimator : estimator
        One with ``given``, for a Y of one column of numbers.
    share : float, default=0.2
        The share of the rows that is held back, between zero and one.
    random_state : int, Generator, RandomState, optional
        The seed of the choice of rows, and of levels within jumps.

    Attributes
    ----------
    estimator_ : estimator
        The clone, fitted.
    recalibration_ : Recalibration
        The levels of the outcomes held back, and G.
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

    def __init__(
        self, estimator: Any, *, share: float = 0.2, random_state: Seed = None
    ) -> None:
        self.estimator = estimator
        self.share = share
        self.random_state = random_state

    @y_for_Y
    def fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Fit a clone of the estimator to some rows, and learn from the others how it errs.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d_x)
            The rows of X.
        Y : array, Series or sequence of shape (n,)
            The rows of Y, numbers.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a row of weight two counts as two rows, in the fit and in
            the calibration. Rows of no weight are left out. Coverage is that of rows drawn
            by their weights, and no longer guaranteed in finite samples.

        Returns
        -------
        ConformalCalibration
            The model itself.
        """
        ok = hasattr(self.estimator, "given") and hasattr(self.estimator, "fit")
        rule, got = "an estimator with `given`", Text(type(self.estimator).__name__)
        require(ok, _NAME, "estimator", rule, got)
        ok = is_number(self.share, least=0, below=1) and self.share > 0
        require(ok, _NAME, "share", "a number between 0 and 1", self.share)
        rng = generator(_NAME, self.random_state)
        sample = _read(X, Y, sample_weight)
        weights = np.ones(sample.n) if sample.weights is None else sample.weights
        rest, back = self._split(sample, weights, rng)
        own = {} if sample.weights is None else {"sample_weight": weights[rest]}
        self.estimator_ = clone(self.estimator).fit(_part(X, rest), _part(Y, rest), **own)
        dists = self._base(_part(X, back))
        levels = pit(dists, _part(Y, back), random_state=rng)
        known = ~np.isnan(levels)  # where there is a law
        require(known.any(), _NAME, "X", "rows at some of which there is a law", "none")
        self.recalibration_ = Recalibration.of(levels[known], weights[back][known])
        self._marginal = _Sample.of(to_numpy(sample.y.take(rest)), weights[rest])
        return self

    def given(self, x: object) -> Recalibrated:
        """Return the recalibrated laws of Y for each row of ``x``.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d_x)
            Conditions on X; a vector if X has one column.
        """
        check_is_fitted(self)
        return Recalibrated(self._base(x)._laws, self.recalibration_)  # noqa: SLF001

    def predict(self, X: object) -> Vector:
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
        """Return the skill of the laws: one minus their CRPS over that of the marginal law.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        Y : array, Series or sequence of shape (q,)
            What came of them.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        dist = self.given(X)
        told = outcomes_of(f"{_NAME}.score", dist, Y, "Y")
        weights = as_weights(sample_weight, told.rows)
        own = np.average(crps(dist, Y), weights=weights)
        marginal = np.average(self._marginal.crps(told.column), weights=weights)
        if marginal <= 0:  # every row of Y is all atoms: there is nothing to tell
            return 1.0 if own <= 0 else 0.0
        return float(1 - own / marginal)

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
        return tags

    def _split(
        self, sample: Sample, weights: Vector, rng: np.random.Generator
    ) -> tuple[Index, Index]:
        """Return the rows to fit to and those held back; copies of a row stay together."""
        counted = np.flatnonzero(weights)
        some = sample.counted
        groups = np.arange(len(counted))
        if not some.distinct and (equal := some.duplicates).copied:
            groups = equal.which
        order = rng.permutation(int(groups.max(initial=-1)) + 1)
        held = int(np.ceil(self.share * len(order)))
        got = Text(f"{len(order)} sample{'s' * (len(order) != 1)}")
        require(held < len(order), _NAME, "X", "of rows enough to hold some back", got)
        out = np.isin(groups, order[:held])
        return counted[~out], counted[out]

    def _base(self, x: object) -> Conditional:
        """Return valid laws of the estimator."""
        dist = self.estimator_.given(x)
        return Conditional(valid(require_column(_NAME, dist)))


class _Sample(NamedTuple):
    """The law of a weighted sample: its values, rising, and their shares."""

    values: Vector
    shares: Vector

    @classmethod
    def of(cls, y: Vector, weights: Vector) -> "_Sample":
        order = np.argsort(y, axis=None)
        return cls(y.ravel()[order], weights[order] / weights.sum())

    def crps(self, y: Vector) -> Vector:
        """Return the scores at outcomes: mean distance, less half that within the sample."""
        v, upto = self.values, np.cumsum(self.shares)
        moved = np.cumsum(np.insert(self.shares * v, 0, 0.0))
        below = np.searchsorted(v, y, side="right")
        F = np.insert(upto, 0, 0.0)[below]
        apart = (upto * (1 - upto))[:-1] @ np.diff(v)
        near: Vector = y * (2 * F - 1) + moved[-1] - 2 * moved[below]
        return near - apart


def _read(X: object, Y: object, sample_weight: object) -> Sample:
    """Return the rows, checked."""
    got = Text("None: fit requires y to be passed, but the target y is None")
    require(Y is not None, _NAME, "Y", "given", got)
    x = learn_encoding(X, where=_NAME, name="X")
    y = learn_encoding(Y, where=_NAME, name="Y", vector=True)
    words = "words" if y.encoding.width == 1 else f"{y.encoding.width} columns"
    scalar = y.encoding.width == 1 and y.encoding.numeric
    require(scalar, _NAME, "Y", "one column of numbers", Text(words))
    if getattr(Y, "ndim", 1) == 2:
        msg = f"A column-vector y was passed when a 1d array was expected by {_NAME}."
        warnings.warn(msg, DataConversionWarning, stacklevel=4)
    return Sample.paired(
        x.rows, y.rows, sample_weight, categorical=x.encoding.all_categorical
    )


def _part(table: Any, rows: Index) -> Any:
    """Return some rows of a table, as one of the same kind."""
    known = table if hasattr(table, "__getitem__") else np.asarray(table)
    return _safe_indexing(known, rows)
