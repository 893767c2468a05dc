r"""Location plus scale times a residual law: any regressor forecasts distributions."""

import warnings
from collections.abc import Iterator
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Vector, to_numpy
from jointdist._params import NestedParameters
from jointdist._random import Seed
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.energy import energy_scores
from jointdist.distributions.location_scale import Conditions, Moved
from jointdist.distributions.signed import units_of
from jointdist.errors import require
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family, family_of
from jointdist.lowrank.novelty import familiar
from jointdist.models._reading import read_pair, read_x, set_columns
from jointdist.models._sklearn import y_for_Y
from jointdist.models.base import LawEstimator
from jointdist.models.jdl import JointDistribution
from jointdist.regression.kernel_ridge import averaged
from jointdist.regression.location import Forecaster, Forecasters, boosting
from jointdist.regression.scale import Spread, blurred, fit_spread, near_forecasts
from jointdist.regression.splits import Training, require_parts
from jointdist.selection.config import require_selection

__all__ = ["DistributionRegressor"]

_FEW, _REPEATED = 30, 3  # distinct values of a discrete outcome, taken so often on average
_SMALL = 50  # rows below which there are kernels only
_STAND = 4096  # outcomes that stand for all in the score of the sample


class DistributionRegressor(RegressorMixin, NestedParameters, BaseEstimator):
    r"""The law of Y given x as location plus scale times a residual.

    .. math:: Y = m(x) + s(x)\, U

    A regressor gives the location :math:`m`, ridge regression of the logarithms of its
    residuals the scale :math:`s`, and a :class:`~jointdist.JointDistribution` the law of
    the residual :math:`U` given the location. Residuals are those of rows that were left
    out, so that laws are as wide as forecasts are wrong; rows that are copies of each other
    are left out together. The columns of Y have locations and scales of their own, and a
    joint law of residuals. Where x is unlike the sample, kernels forecast the mean, and laws
    are about as wide as the sample of Y.

    Words, and rows of Y of at most 30 distinct values, each taken three times on average or
    more, have no residuals: their law given x is learned directly. Any other Y is taken to be
    continuous: a single column of few values, zeros that come again and again, or bounds are
    not kept, as they are by a :class:`~jointdist.JointDistribution`.

    Parameters
    ----------
    regressor : "auto", "kernel", estimator, or sequence of these, default="auto"
        What forecasts the location. ``"kernel"``: kernel ridge regression, with kernels
        that are chosen. An estimator: any regressor of scikit-learn's kind, cloned; its
        forecast is the mean of those of ``cv`` models, each fitted to all rows but those of
        a part. A sequence: the weighted average that misses rows left out least.
        ``"auto"``: that of ``"kernel"`` and histogram gradient boosting.
    scale : bool, default=True
        Whether the scale depends on x.
    distribution : JointDistribution, optional
        The estimator of the law of residuals given the location, or of Y given x if there
        are no residuals; cloned. By default one with default arguments, but for a Gaussian
        kernel of the location with half its median scale. Its seed is that of this
        estimator, unless it has one.
    kernel_x : Kernel or "auto", default="auto"
        The kernel of kernel ridge regression. By default an average of up to six: Gaussian
        and Matérn kernels, with a scale for each column or not.
    cv : int, splitter or iterable of splits, default=5
        The number of parts of the rows, of which each is held out in turn; or these parts,
        by a splitter of scikit-learn's kind or as pairs of rows, of which the second are
        held out: rows that depend on each other belong together, as in
        ``list(GroupKFold(5).split(X, Y, groups))``. Kernel ridge regression leaves rows out
        one by one, unless parts are given.
    random_state : int, Generator, RandomState, optional
        The seed of pivots, of choices of rows, and of regressors that have none.
    executor : Executor, optional
        How row blocks are worked on.
    verbose : int, default=1
        Whether long work shows its progress, on a terminal.

    Attributes
    ----------
    regressors_ : list
        The regressors of the location, fitted.
    weights_ : array of shape (k, d_y)
        Their weights in the average, for each column of Y.
    kernel_x_ : Kernel or None
        The kernel with the largest share in kernel ridge regression, if there is one.
    scale_ : Spread or array of shape (d_y,)
        The scale; a constant for each column if it does not depend on x.
    distribution_ : JointDistribution
        The law of residuals, or of Y if there are none.
    direct_ : bool
        Whether Y is discrete, so that ``distribution_`` is that of Y itself.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X is a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(400, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * (1 + X[:, 0] ** 2) * rng.normal(size=400)
    >>> model = jd.DistributionRegressor("kernel", random_state=0).fit(X, y)
    >>> dist = model.given(x=[[0.0], [1.5]])
    >>> dist.mean().round(1), dist.interval(0.9).round(1)
    (array([-0. ,  0.1]), array([[-0.2,  0.2],
           [-0.5,  0.6]]))
    """

    n_features_in_: int
    regressors_: list[Any]
    kernel_x_: Kernel | None
    scale_: Spread | Vector

    def __init__(
        self,
        regressor: Any = "auto",
        scale: bool = True,
        distribution: JointDistribution | None = None,
        *,
        kernel_x: Kernel | str = "auto",
        cv: Any = 5,
        random_state: Seed = None,
        executor: Executor | None = None,
        verbose: int = 1,
    ) -> None:
        self.regressor = regressor
        self.scale = scale
        self.distribution = distribution
        self.kernel_x = kernel_x
        self.cv = cv
        self.random_state = random_state
        self.executor = executor
        self.verbose = verbose

    @y_for_Y
    def fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Learn location, scale and law.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d_x)
            The rows of X; columns of words are categories.
        Y : array, DataFrame or sequence of shape (n,) or (n, d_y)
            The rows of Y.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        DistributionRegressor
            The model itself.
        """
        self._check()
        where = self._name
        pair = read_pair(where, X, Y, sample_weight, self.random_state)
        set_columns(self, pair.columns)
        self._encodings, sample, self._seed = pair.encodings, pair.sample, pair.seed
        data = Training.of(sample, self._table(X, pair.encodings[0], sample.x), self.cv)
        self._outcomes, self._weights = data.given_outcomes, data.given.weights
        self.direct_ = not pair.encodings[1].numeric or _few(self._outcomes)
        return (
            self._learn_directly(X, Y, sample_weight) if self.direct_ else self._learn(data)
        )

    def given(self, x: object) -> Conditional:
        """Return the laws of Y given rows of X.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d_x)
            Conditions on X; a vector if X has one column.
        """
        check_is_fitted(self)
        if self.direct_:
            return self.distribution_.given(x=x)
        return Conditional(self._laws(x, self._read("given", "x", x)))

    def predict(self, X: object) -> Any:
        """Return the conditional means of Y; for words, the most likely ones.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        """
        check_is_fitted(self)
        rows = self._read("predict", "X", X)
        if self.direct_:
            return self.distribution_.predict(X)
        return Conditional(self._laws(X, rows)).mean()

    @y_for_Y
    def score(  # pyrefly: ignore[bad-override]  # Y, not y
        self, X: object, Y: object, sample_weight: object = None
    ) -> float:
        """Return the skill of the laws: one minus their CRPS over that of the sample of Y.

        One is perfect, zero no better than the sample. For several columns or words the
        CRPS becomes the energy score.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        Y : array, DataFrame or sequence of shape (q,) or (q, d_y)
            What came of them.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        check_is_fitted(self)
        if self.direct_:
            return self.distribution_.score(X, Y, sample_weight)
        where, x = f"{self._name}.score", self._read("score", "X", X)
        y = self._encodings[1].encode(Y, where=where, name="Y", vector=True)
        weights = Sample.paired(x, y, sample_weight).weights
        points = to_numpy(y.read(0, y.n))
        own = np.average(energy_scores(self._laws(X, x), points)[0], weights=weights)
        return 1 - float(own / np.average(self._sample_scores(points), weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a skill of 0.5 is much, unlike an R² of it
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _learn_directly(self, X: object, Y: object, sample_weight: object) -> Self:
        """Learn the law of an outcome that has no residuals."""
        if not isinstance(self.regressor, str):
            msg = (
                f"{self._name}: Y is of words or of few distinct values, whose law given x is "
                "learned directly: `regressor` is not used."
            )
            warnings.warn(msg, UserWarning, stacklevel=4)
        self.distribution_ = self._law().fit(X, Y, sample_weight)
        self.regressors_, self.weights_ = [], np.empty((0, self._outcomes.shape[1]))
        self.kernel_x_, self.scale_ = (
            self.distribution_.kernel_x_,
            np.ones(self._outcomes.shape[1]),
        )
        return self

    def _learn(self, data: Training) -> Self:
        sample, T, encoding = data.sample, data.outcomes, self._encodings[0]
        w, rng = sample.weights, np.random.default_rng(self._seed)
        family = family_of("x", self.kernel_x, encoding, sample.x, weights=w, rng=rng)
        parts, forecasts = zip(*self._forecasters(family, data), strict=True)
        left = T - np.stack(forecasts)
        self._parts, self.weights_ = list(parts), averaged(left, w)
        self.regressors_ = [part.model for part in parts]
        missed: Vector = np.einsum("kr,knr->nr", self.weights_, left)
        p = Rows(blurred(T - missed, missed, rng, w), self._name, "Y")
        s = self._scales(family, sample, p, missed)
        self._familiar = familiar(
            family.at(1.0), sample.x, w, random_state=self._seed, executor=self.executor
        )
        mean = np.average(T - missed, axis=0, weights=w)
        self._told = np.average((T - missed - mean) ** 2, axis=0, weights=w)
        self._left = np.average(missed**2, axis=0, weights=w)
        self.distribution_ = self._law(near_forecasts(p, w)).fit(p.source, missed / s, w)
        return self

    def _forecasters(
        self, family: Family, data: Training
    ) -> Iterator[tuple[Forecaster, Vector]]:
        """Yield regressors, with what they forecast for rows that are left out."""
        self.kernel_x_ = None
        how = Forecasters(data, family, self.cv, self._seed, self._name, self.executor)
        given, n = self.regressor, data.sample.n
        auto = isinstance(given, str) and given == "auto"
        several = given if isinstance(given, list | tuple) else [given]
        for one in ["kernel"] if auto else several:
            if not isinstance(one, str):
                yield how.given(one)
                continue
            found, forecasts = how.kernels()
            parts, shares = found.model.parts, found.model.shares  # type: ignore[union-attr]
            self.kernel_x_ = parts[shares.mean(axis=1).argmax()].kernel
            yield found, forecasts
        if auto and n >= _SMALL:
            words = [known is not None for known in self._encodings[0].categories]
            yield how.coded(boosting(words, n))

    def _scales(self, family: Family, sample: Sample, p: Rows, missed: Vector) -> Vector:
        """Learn the scale, and return that of each row."""
        if not self.scale:
            s = np.sqrt(np.average(missed**2, axis=0, weights=sample.weights))
            self.scale_ = np.where(s > 0, s, 1.0)
            return np.broadcast_to(self.scale_, missed.shape)
        self.scale_, s = fit_spread(
            sample.x,
            p,
            missed,
            [family.at(1.0)],
            sample.weights,
            random_state=self._seed,
            executor=self.executor,
        )
        return s

    def _laws(self, X: Any, x: Rows) -> Moved:
        """Return the laws given rows of X."""
        table = self._table(X, self._encodings[0], x)
        unlike = self._familiar.novelty(x, self.executor)
        doubt = self._familiar.doubt(unlike)
        found = [part.predict(x, table, doubt, self.executor) for part in self._parts]
        shift = np.einsum("kr,kqr->qr", self.weights_, np.stack(found))
        p = Rows(shift, self._name, "x")
        if isinstance(self.scale_, Spread):
            stretch = self.scale_.at(x, p, self.executor)
        else:
            stretch = np.broadcast_to(self.scale_, shift.shape)
        # Far away nothing is told: what forecasts explain of Y is uncertain, too.
        unknown = self._told + np.maximum(self._left - stretch**2, 0.0)
        stretch = np.sqrt(stretch**2 + doubt[:, None] * unknown)
        weights = np.ones(len(self._outcomes)) if self._weights is None else self._weights
        unit = units_of(self._outcomes, weights)
        base = self.distribution_._of_y(p)  # noqa: SLF001
        conditions = Conditions(base.queries, x, self._encodings[0], unlike)
        names = self._encodings[1]
        return Moved.of(base, conditions, shift, stretch, names=names, unit=unit)

    def _sample_scores(self, points: Vector) -> Vector:
        """Return the energy scores of the sample of Y at points."""
        rows, weights = np.arange(len(self._outcomes)), self._weights
        if len(rows) > _STAND:
            rows = np.random.default_rng(0).choice(rows, _STAND, replace=False)
        w = np.ones(len(rows)) if weights is None else weights[rows]
        y, w = self._outcomes[rows], w / w.sum()
        unit = units_of(y, w) if y.shape[1] > 1 else np.ones(1)
        apart = w @ cdist(y / unit, y / unit) @ w
        found: Vector = cdist(points / unit, y / unit) @ w - apart / 2
        return found

    def _read(self, method: str, name: str, X: object) -> Rows:
        where = f"{self._name}.{method}"
        return read_x(self, self._encodings[0], X, where=where, name=name)

    @staticmethod
    def _table(X: Any, encoding: Encoding, x: Rows) -> Any:
        """Return rows of X as regressors read them: numbers, or a table as it was given."""
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        as_given = isinstance(frame, nw.DataFrame) or not encoding.numeric
        return X if as_given else to_numpy(x.read(0, x.n))

    def _law(self, kernel_x: Kernel | str = "auto") -> JointDistribution:
        if self.distribution is not None:
            dist: JointDistribution = clone(self.distribution)
            own = dist.random_state is None
            return dist.set_params(random_state=self._seed) if own else dist
        return JointDistribution(
            kernel_x,
            random_state=self._seed,
            executor=self.executor,
            verbose=self.verbose,
        )

    def _check(self) -> None:
        where, given = self._name, self.regressor
        require_selection(where, None, self.verbose)
        several = isinstance(given, list | tuple)
        rule = '"auto", "kernel", a regressor, or a sequence of "kernel" and regressors'
        good = bool(given) if several else True
        for one in given if several else [given]:
            word = isinstance(one, str) and one in ({"kernel"} if several else _WORDS)
            good &= word or (hasattr(one, "fit") and hasattr(one, "predict"))
            good &= not isinstance(one, type) and not hasattr(one, "predict_proba")
        require(good, where, "regressor", rule, given)
        require(isinstance(self.scale, bool), where, "scale", "True or False", self.scale)
        fine = self.distribution is None or isinstance(self.distribution, LawEstimator)
        require(
            fine, where, "distribution", "a JointDistribution, or None", self.distribution
        )
        require_parts(where, self.cv)

    @property
    def _name(self) -> str:
        return type(self).__name__


_WORDS = {"auto", "kernel"}


def _few(T: Vector) -> bool:
    """Tell whether there are few distinct outcomes."""
    return len(np.unique(T, axis=0)) <= max(min(_FEW, len(T) // _REPEATED), 1)
