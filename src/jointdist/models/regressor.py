r"""Location plus scale times a residual: any regressor forecasts distributions."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Vector
from jointdist._rules import Seed, Text, require, require_kind
from jointdist.data.design import Design, Question
from jointdist.data.encoding import Encoding
from jointdist.data.events import names_of
from jointdist.data.executor import Executor
from jointdist.data.fold_arguments import is_count, require_cv
from jointdist.data.frames import index_of
from jointdist.data.one_row import as_question
from jointdist.data.sample import Sample
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import answering
from jointdist.distributions.protocols import Distributions
from jointdist.kernels import Kernel
from jointdist.models._arguments import (
    PairedData,
    read_pair,
    read_question,
    read_x,
    table_options,
    y_for_Y,
)
from jointdist.models._fitted_state import FittedState
from jointdist.models._regressor_fit import RegressorModel, fit_regressor
from jointdist.models.backwards import Margins, of_direct, warn_of_outcomes
from jointdist.models.base import DistributionEstimator
from jointdist.models.direct_pool import DirectPool
from jointdist.models.event_rows import in_event, require_one
from jointdist.models.hurdle_model import HurdleModel
from jointdist.models.jdl import JointDistribution
from jointdist.models.joint_estimator import JointEstimator
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.members import MEMBERS, Member
from jointdist.models.outcome_shape import (
    Support,
    require_support,
)
from jointdist.models.pooled_model import PooledModel
from jointdist.models.questions import Answering, answers
from jointdist.models.reweighted import Reweighted, reweighted
from jointdist.models.told import warn_if_novel
from jointdist.regression.effort import EFFORTS, EffortName
from jointdist.regression.fitted_scale import ScaleRegression
from jointdist.regression.location import require_regressor
from jointdist.regression.tables import as_table
from jointdist.regression.training import Training
from jointdist.selection.specification import require_selection

__all__ = ["DistributionRegressor"]


class DistributionRegressor(RegressorMixin, FittedState):
    r"""The best forecast of the distribution of Y given x: a pool of distributions.

    With ``regressor="auto"`` it is the weighted average of up to three members: location plus
    scale times a residual, below; a direct model of the probabilities of outcomes by maximum
    likelihood; and a quantile regression forest. The weights have the least out-of-fold energy
    score, that of one outcome being the CRPS; members that do not pay are left out. Any other
    ``regressor`` has the first member alone,

    .. math:: Y = m(x) + s(x)\, U

    A regressor gives the location :math:`m`, kernel ridge regression of the logarithms of
    its residuals the scale :math:`s`, and a :class:`~jointdist.JointDistribution` the
    distribution of the residual :math:`U` given the location. Residuals are out-of-fold, so
    that the forecast distributions are as wide as forecasts are wrong; copies of a row are
    held out together. The columns of Y have locations and scales of their own, and a joint
    distribution of residuals. Gross outliers of Y do not decide the location.

    Where rows of X are few or none, ``"auto"`` and ``"kernel"`` follow a linear trend in the
    columns of numbers, if it forecasts rows that are held out at the ends of columns; spread
    grows with distance. Without a trend kernel regression reverts to the mean, and the
    distributions are about as wide as the marginal one.

    Questions backwards, ``given(y=...)``, are answered by Bayes' rule: the distribution of X given
    an outcome is a sample of the rows of X, each with its weight times the density that is
    forecast for the outcome there.

    A discrete Y has no residuals: its distribution given x is learned directly, by a pool of the
    direct model and a forest; by a :class:`~jointdist.JointDistribution` if there are fewer than
    50 rows, or if ``regressor`` or ``distribution`` is given. Y is discrete if it is categorical,
    or if its rows take at most 30 distinct values, three times each on average.

    Any other Y is continuous, but for *point masses* and bounds. A point mass is a value that is
    taken by at least 2 % of the rows, at least 10 of them, and at least five times as often as
    the median of the ten values next to it: the zero of rain, a cap, a round number; whole
    minutes, which are all repeated, are none. Its probability given x is learned by itself, and
    the rest of the distribution from the other rows. No mass is beyond a bound: distributions of
    one column are reflected there, and of several columns what is beyond is moved to it. So cdf,
    quantiles, draws, probabilities and densities agree; ``pdf`` integrates to one minus the
    probabilities of point masses, and at a point mass it is its probability. Several columns
    have bounds, but no point masses in between.

    Parameters
    ----------
    regressor : "auto", "kernel", estimator, or sequence of these, default="auto"
        The regressor of the location. ``"kernel"``: kernel ridge regression with kernels
        chosen by leave-one-out errors. An estimator: any regressor with the interface of
        scikit-learn, cloned; its forecast is the mean of those of ``cv`` models, each
        fitted to all rows but those of a fold; in time, or where some rows are never held
        out, that of a model fitted to all rows. A sequence: the weighted average with the
        least out-of-fold error. ``"auto"``: that of ``"kernel"``, histogram gradient
        boosting and a forest, in a pool with other distributions.
    scale : bool, default=True
        Whether the scale depends on x.
    distribution : JointDistribution, optional
        The estimator of the distribution of residuals given the location, or of Y given x
        if there are no residuals; cloned. By default one with default arguments, but for a
        Gaussian kernel of the location with half the length scale of the median heuristic.
        Its seed is that of this estimator, unless it has one.
    kernel_x : Kernel or "auto", default="auto"
        The kernel of kernel ridge regression. By default an average of regressions with up
        to six: Gaussian and Matérn kernels, with a length scale for each column or not.
    cv : int, "time", splitter or iterable of splits, default=5
        The number of folds, random ones; of whole groups, if ``fit`` gets ``groups``.
        ``"time"``: the rows are in order of time, in six blocks, and each block but the first
        is forecast from all rows before it. Or the folds, by a splitter of scikit-learn,
        which gets ``groups``, or as pairs of arrays of row indices, of which the second are
        held out: each row once at most, and no row that depends on rows it is forecast from.
        Rows that are never held out have no residuals. Location, scale, and the distribution
        of residuals are all learned by these folds; kernel ridge regression leaves rows out
        one by one if folds are random.
    missing, unknown : str
        As in :class:`~jointdist.JointDistribution`.
    random_state : int, Generator, RandomState, optional
        The seed of pivots, of choices of rows, and of regressors without one.
    effort : {"fast", "auto", "best"}, default="auto"
        How much time a fit is worth. On ten splits of nine UCI sets the CRPS of ``"fast"``
        is 0.95 to 1.14 times that of ``"auto"``, 1.3 times where there is no noise, and its fits
        take a fifth to a third of the CPU time, three quarters where Y is discrete: of
        ``"auto"`` 6 to 17 s for 300 to 1,400 rows and 60 to 90 s for 7,000 to 11,000, on one of
        16 busy cores (``docs/results/forecasts.md``). An earlier ``"best"`` took 1.5 to 2 times
        the time of ``"auto"`` on the development splits, where its CRPS was up to 2 % lower, and
        higher on some sets.
    support : "auto", pair of bounds, or sequence of pairs, default="auto"
        The least and the largest outcome that can be, as ``(0, None)``; None where there is no
        bound. A pair for each column, if Y has several. ``"auto"``: zero, if at least 20 rows
        are all on one side of it, and the least or largest outcome, if it is a point mass.
        ``(None, None)`` or None: no bounds.
    point_masses : bool, default=True
        Whether values that are repeated far more often than others have a probability.
    integers : bool, default=False
        Whether outcomes are whole numbers. Distributions are then rounded: draws and quantiles
        are whole numbers, and there is no density; ask ``prob`` for probabilities. Questions
        backwards, which need one, are refused.
    executor : Executor, optional
        Runs the row blocks.
    verbose : int, default=1
        Whether long computations show their progress on a terminal.

    Attributes
    ----------
    regressors_ : list
        The fitted regressors of the location.
    regressor_weights_ : array of shape (k, d_y)
        Their weights in the average, for each column of Y.
    members_ : list of Member
        The members of the pool of distributions that have weight: name, weight and own
        out-of-fold score of each. A single one unless ``regressor`` is ``"auto"``.
    weights_ : array of shape (m,)
        The weights of these members; their sum is one.
    kernel_x_ : Kernel or None
        The kernel with the largest weight in kernel ridge regression, if there is one.
    scale_ : ScaleRegression or array of shape (d_y,)
        The scale; a constant for each column if it does not depend on x.
    distribution_ : JointDistribution
        The distribution of residuals, or of Y if there are none.
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
    >>> model.given(y=[1.2]).prob("0.3 < x < 1.5").round(1)  # where the wave has its crest
    array([0.9])
    """

    n_features_in_: int
    regressors_: list[Any]
    regressor_weights_: Vector
    kernel_x_: Kernel | None
    scale_: ScaleRegression | Vector
    distribution_: JointDistribution
    direct_: bool
    _model: (
        LocationScaleModel | PooledModel | HurdleModel | DirectPool | None
    )  # None if the distribution is that of Y itself
    _encodings: tuple[Encoding, Encoding]

    def __init__(
        self,
        regressor: Any = "auto",
        scale: bool = True,
        distribution: JointDistribution | None = None,
        *,
        kernel_x: Kernel | str = "auto",
        cv: Any = 5,
        missing: str = "allow",
        unknown: str = "prior",
        random_state: Seed = None,
        effort: EffortName = "auto",
        support: Support = "auto",
        point_masses: bool = True,
        integers: bool = False,
        executor: Executor | None = None,
        verbose: int = 1,
    ) -> None:
        self.regressor = regressor
        self.scale = scale
        self.distribution = distribution
        self.kernel_x = kernel_x
        self.cv = cv
        self.missing = missing
        self.unknown = unknown
        self.random_state = random_state
        self.effort = effort
        self.support = support
        self.point_masses = point_masses
        self.integers = integers
        self.executor = executor
        self.verbose = verbose

    @y_for_Y
    def fit(
        self, X: object, Y: object, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Learn location, scale and the distribution of residuals.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d_x)
            The rows of X; columns of strings are categorical.
        Y : array, DataFrame or sequence of shape (n,) or (n, d_y)
            The rows of Y.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        groups : array, Series or sequence of shape (n,), optional
            The group of each row. Rows of a group depend on each other, and are held out
            together.
        """
        self._check()
        seed, folds = self.random_state, {"cv": self.cv, "groups": groups}
        how = table_options(self)
        pair = read_pair(self._name, X, Y, sample_weight, seed, how=how, **folds)
        table = as_table(X, pair.encodings[0], pair.sample.x)
        data = Training.of(pair.sample, table, self.cv, pair.seed)
        return self._keep(pair, *fit_regressor(self, pair, data, (X, Y, sample_weight)))

    def given(
        self,
        x: object = None,
        *,
        y: object = None,
        where: object = None,
        marginals: Margins = "free",
    ) -> Conditional:
        """Return conditional distributions: of Y for each row of ``x``, or of X for each of ``y``.

        Parameters
        ----------
        x : array, DataFrame, dict or sequence of shape (q, d_x), optional
            Conditions on X; a vector if X has one column.
        y : array, DataFrame, dict or sequence of shape (q,) or (q, d_y), optional
            Outcomes: the distribution of X given each, by Bayes' rule over a sample of at most
            4,096 rows of X. Each has its weight times the density that the model forecasts for
            the outcome there, divided by their sum. Far from all forecasts X has its marginal
            distribution, with a warning; ``novelty`` tells. Of a discrete Y it is the answer of
            ``distribution_``.
        where : str or callable, optional
            An event: the distribution of Y given that X lies in a set. An expression over
            the columns of X, or a function of its rows. The distribution is the mixture of
            those at the rows in the set, of a sample of at most 4,096 rows of X.
        marginals : {"free", "exact"}, default="free"
            With ``y``: whether the answers, averaged over the outcomes of the sample, give back
            the sample of X. By ``"free"`` they do as far as forecasts are calibrated; averaged
            over the model's own marginal of Y they always do. ``"exact"``: the joint weights of
            support points and outcomes, at most 512 that stand for all, are raked until both
            marginals are those of the sample. It takes some ten seconds, once.
        """
        check_is_fitted(self)
        method = f"{self._name}.given"
        require_one(method, x=x, y=y, where=where)
        require_kind(method, "marginals", marginals, Margins)
        if y is not None:
            return self._given_y(y, marginals)
        rule = '"free" without `y`: forecasts are not raked'
        require(marginals == "free", method, "marginals", rule, marginals)
        if self._model is None:
            return self._answer(self.distribution_.given(x=x, where=where))
        if x is None:
            named = isinstance(where, str) or callable(where)
            rule, got = (
                "an expression or a function",
                Text("truth values of rows in no order"),
            )
            require(named, method, "where", rule, got)
            inside = in_event(where, self._model.points_x, self.encoding_, method)
            return self._answer(Conditional(self._model.of_y_within(inside)))
        x = self._question("given", "x", x)
        question = self._read("given", "x", x)
        dists = self._answers("given", question, x)
        return self._answer(answering(dists, question.rows, index_of(x)))

    def reweighted(self, X: object = None, *, weights: object = None) -> Reweighted:
        """Return the model under another distribution of X, with the same p(y | x).

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (k, d_x), optional
            Rows of X from the new distribution.
        weights : array of shape (k,) or (n,), optional
            Weights of these rows.

        Returns
        -------
        Reweighted
            The model under the new distribution, with the marginal of Y that follows.
        """
        check_is_fitted(self)
        where, rows = f"{self._name}.reweighted", None
        got = Text("weights alone, of rows in no order")
        known = X is not None or weights is None or self._model is None
        require(known, where, "X", "given with its weights", got)
        if X is not None:
            rows = read_x(self, self.encoding_, X, where=where).kept()
        return reweighted(self, self._fitted_model, rows, weights, where)

    def predict(self, X: object) -> Any:
        """Return the conditional means of Y; of categories, the most likely ones.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        """
        check_is_fitted(self)
        X, names = self._question("predict", "X", X), names_of(self._encodings[1])
        if self._model is None:
            return self._forecast(self.distribution_.predict(X), X, names)
        question = self._read("predict", "X", X)
        dist = answering(self._answers("predict", question, X), question.rows)
        found = dist.mean() if self._encodings[1].numeric else dist.mode()
        return self._forecast(found, X, names)

    @y_for_Y
    def score(  # pyrefly: ignore[bad-override]  # Y, not y
        self, X: object, Y: object, sample_weight: object = None
    ) -> float:
        """Return the skill: one minus the CRPS over that of the marginal sample of Y.

        One is perfect, zero no better than the marginal. For several columns or categories
        the CRPS becomes the energy score.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        Y : array, DataFrame or sequence of shape (q,) or (q, d_y)
            The observed outcomes.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        check_is_fitted(self)
        if self._model is None:
            return self.distribution_.score(X, Y, sample_weight)
        X = self._question("score", "X", X)
        where, question = f"{self._name}.score", self._read("score", "X", X)
        y = self._encodings[1].encode(Y, where=where, name="Y", vector=True)
        sample = Sample.paired(question.rows, y, sample_weight)
        return self._model.skill_of(self._answers("score", question, X), sample)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a skill of 0.5 is much, unlike an R² of it
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "allow"
        return tags

    def _keep(
        self,
        pair: PairedData,
        dist: JointDistribution,
        model: RegressorModel | None,
    ) -> Self:
        """Set all fitted attributes; without a model, the distribution is that of Y."""
        learned = pair.columns | {"_encodings": pair.encodings, "_model": model}
        direct = model is None or isinstance(model, DirectPool)
        learned |= {"distribution_": dist, "direct_": direct}
        if model is None or isinstance(model, DirectPool):
            d = pair.sample.y.d
            learned |= {"regressors_": [], "regressor_weights_": np.empty((0, d))}
            learned |= {"kernel_x_": dist.kernel_x_, "scale_": np.ones(d)}
        else:
            place, scale = model.location, model.scale.value
            learned |= {"regressors_": [part.model for part in place.parts]}
            learned |= {"regressor_weights_": place.weights, "kernel_x_": place.kernel}
            learned |= {"scale_": scale}
        return self._set_fitted(learned)

    @classmethod
    def _of_saved(cls, saved: dict[str, Any]) -> Self:
        """Return the estimator of what a file holds, which may be of an older version."""
        learned = saved["learned"]
        if learned is not None and "weights_" in learned:
            learned["regressor_weights_"] = learned.pop("weights_")
        return super()._of_saved(saved)

    @property
    def members_(self) -> list[Member]:
        """The members of the pool of distributions that have weight."""
        check_is_fitted(self)
        model = self._model.base if isinstance(self._model, HurdleModel) else self._model
        if isinstance(model, PooledModel | DirectPool):
            return model.members
        name = MEMBERS[1] if self._model is None else MEMBERS[0]
        return [Member(name, 1.0, np.nan)]

    @property
    def weights_(self) -> Vector:
        """The weights of these members."""
        return np.array([member.weight for member in self.members_])

    @property
    def encoding_(self) -> Design:
        """What became of the columns of X."""
        check_is_fitted(self)
        return self._fitted_model.design_x

    def _question(self, method: str, name: str, X: object) -> Any:
        """Return a question by the names of columns as a table."""
        where = f"{self._name}.{method}"
        return as_question(X, self.encoding_.shown, where=where, name=name)

    def _read(self, method: str, name: str, X: object) -> Question:
        where = f"{self._name}.{method}"
        return read_question(self, self.encoding_, X, where=where, name=name)

    def _given_y(self, y: object, marginals: Margins) -> Conditional:
        """Return the distributions of X given outcomes."""
        method, model, dist = f"{self._name}.given", self._model, self.distribution_
        if model is None and marginals == "free" and isinstance(dist, JointEstimator):
            return self._answer(dist.given(y=y))
        whole = bool(self._settings.get("integers", False)) and not self.direct_
        rule = "False for questions backwards: whole numbers have no density here"
        require(not whole, method, "integers", rule, Text("True"))
        encoding = self._encodings[1]
        y = as_question(y, encoding, where=method, name="y")
        rows = encoding.encode(y, where=method, name="y", vector=True).kept()
        backwards = of_direct(dist, method) if model is None else model.backwards
        dists = backwards.of_x(rows, marginals)
        warn_of_outcomes(method, dists.conditions.novelty())
        return self._answer(answering(dists, rows, index_of(y)))

    def _answers(self, method: str, question: Question, X: object) -> Distributions:
        """Return the distributions at rows, which users gave as ``X``."""
        model = self._model
        assert model is not None  # noqa: S101  # for type checkers
        found: Distributions
        if question.absent is None:
            found = model.given(question.rows, X)
        else:
            found = answers(model, question)
        warn_if_novel(f"{self._name}.{method}", question, found.conditions, model)
        return found

    @property
    def _fitted_model(self) -> Answering:
        """What answers questions."""
        return self.distribution_._fitted if self._model is None else self._model  # noqa: SLF001

    def _check(self) -> None:
        """Raise unless the arguments obey their rules."""
        where = self._name
        require_selection(where, None, self.verbose)
        require_regressor(where, self.regressor)
        rule = " or ".join(f'"{name}"' for name in EFFORTS)
        require(self.effort in list(EFFORTS), where, "effort", rule, self.effort)
        require_support(where, self.support)
        for name in ("point_masses", "integers"):
            value = getattr(self, name)
            require(isinstance(value, bool), where, name, "True or False", value)
        require(isinstance(self.scale, bool), where, "scale", "True or False", self.scale)
        fine = self.distribution is None or isinstance(
            self.distribution, DistributionEstimator
        )
        rule = "a JointDistribution, or None"
        require(fine, where, "distribution", rule, self.distribution)
        require_cv(where, self.cv, share=False)
        how = getattr(self.distribution, "selection", None)
        rule = "one whose `selection` has a number as `cv`: that of this estimator holds"
        fine = how is None or is_count(how.cv)
        require(fine, where, "distribution", rule, Text("splits, or those of time"))

    @property
    def _name(self) -> str:
        return type(self).__name__
