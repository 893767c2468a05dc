"""What estimators of conditional distributions share: questions and incremental updates."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Vector, to_numpy
from jointdist._rules import Seed, Text, require
from jointdist.data.design import Design, Question
from jointdist.data.encoding import Encoding
from jointdist.data.events import names_of
from jointdist.data.executor import Executor
from jointdist.data.folds import Folds
from jointdist.data.frames import index_of
from jointdist.data.one_row import as_question
from jointdist.data.table import Rows, as_weights
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import answering
from jointdist.distributions.protocols import Distributions
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.moments import Moments
from jointdist.models._arguments import (
    PairedData,
    read_pair,
    read_question,
    read_x,
    require_columns,
    table_options,
    y_for_Y,
)
from jointdist.models.event_rows import in_event
from jointdist.models.exact_updates import ExactUpdates
from jointdist.models.fold_calibration import Judges
from jointdist.models.kept_sample import KeptSample
from jointdist.models.questions import Answering, answers
from jointdist.models.reweighted import Reweighted, reweighted
from jointdist.models.told import warn_if_novel
from jointdist.programs import Solution
from jointdist.selection.specification import Selected, Selection

__all__ = ["DistributionEstimator", "Fit", "Fitted"]

_SOLVED = {"regularization", "positivity", "marginals", "normalization", "grid_rows"}


@dataclass(frozen=True, slots=True)
class Fit:
    """What all fits of an estimator have in common, the first one and its updates.

    Attributes
    ----------
    chosen : object
        The hyperparameters: a frozen value with ``strength`` and ``selected``.
    seed : int
        The seed of choices of rows.
    columns : dict
        ``n_features_in_``, and ``feature_names_in_`` if the columns of X have names.
    judges : Judges, optional
        What projections are calibrated by, where rows depend on each other.
    """

    chosen: Any
    seed: int
    columns: dict[str, Any]
    judges: Judges | None = None

    @staticmethod
    def of(chosen: Any, data: PairedData) -> "Fit":
        """Return what a first fit to rows has in common with its updates.

        Parameters
        ----------
        chosen : object
            The hyperparameters.
        data : PairedData
            The rows.
        """
        judges = None if data.sample.folds is None else Judges(data.sample)
        return Fit(chosen, data.seed, data.columns, judges)


class Fitted(Answering, Protocol):
    """A fitted model of the conditional distributions of Y given X, on support points."""

    @property
    def kept(self) -> KeptSample:
        """What is kept of the sample."""

    @property
    def tuned(self) -> tuple[float | None, float | None]:
        """The ridges of the projections of Y given X, and of X given Y."""

    def energy_scores(self, dists: Any, y: Vector) -> tuple[Vector, Vector]:
        """Return the energy scores of distributions of Y, and of the marginal."""


class DistributionEstimator(RegressorMixin, ExactUpdates):
    """An estimator of the conditional distributions of Y given X.

    Each estimator writes its algorithm in ``fit``; here is what follows from a fit.
    """

    n_features_in_: int
    missing: str
    unknown: str
    regularization: Any  # a number, an array of them, or a string
    selection: Selection | None
    verbose: int
    random_state: Seed
    executor: Executor | None
    basis_x_: Basis
    basis_y_: Basis
    regularization_: Any  # a number, or an array of them
    selection_: Selected | None
    moments_: Moments
    solution_: Solution
    coefficients_: Vector
    _chosen: Any  # the hyperparameters: a frozen value with `strength` and `selected`
    _columns: dict[str, Any]  # `n_features_in_`, and the names of columns if there are any
    _fitted: Fitted
    _seed: int
    _folds: Folds | None = None  # those that an estimator gives of which this is a part
    _numbers_alone = False  # whether features need numbers: categories are embedded
    _caller = ""  # the estimator that users call, if this one is a part of it

    @abstractmethod
    def fit(
        self, X: object, Y: object, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Fit the model to paired rows."""

    def _read_fit(
        self, X: object, Y: object, sample_weight: object, groups: object
    ) -> PairedData:
        """Return the tables of a fit, with the folds of their rows."""
        cv = 5 if self.selection is None else self.selection.cv
        rows = X, Y, sample_weight, self.random_state
        how = table_options(self, numbers_alone=self._numbers_alone)
        return read_pair(
            self._name, *rows, cv=cv, groups=groups, folds=self._folds, how=how
        )

    def predict(self, X: object) -> Any:
        """Return the conditional means of Y; for categories, the most likely ones.

        Parameters
        ----------
        X : array, DataFrame, dict or sequence of shape (q, d_x)
            Rows of X; a dict of values or a Series for one row.
        """
        check_is_fitted(self)
        X, encoding = self._question("predict", "X", X), self._encodings[1]
        question = self._read_question("predict", "X", X)
        dist = answering(self._answers("predict", question), question.rows)
        found = dist.mean() if encoding.numeric else dist.mode()
        return self._forecast(found, X, names_of(encoding))

    @y_for_Y
    def score(  # pyrefly: ignore[bad-override]  # Y, not y
        self, X: object, Y: object, sample_weight: object = None
    ) -> float:
        """Return the skill score: one minus the mean CRPS over that of the marginal.

        One is perfect, zero is no better than the marginal distribution of Y. For several
        columns or categories the CRPS becomes the energy score.

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
        question = self._read_question("score", "X", X)
        x, y = self._paired("score", question.rows, Y)
        weights = as_weights(sample_weight, x)
        dists = self._answers("score", question)
        scores = self._fitted.energy_scores(dists, to_numpy(y.read(0, y.n)))
        own, marginal = (float(np.average(score, weights=weights)) for score in scores)
        if marginal <= 0:  # Y is constant, and so is the sample: nothing to forecast
            return 1.0 if own <= 0 else 0.0
        return 1 - own / marginal

    def refit(self, **params: Any) -> Self:
        """Return the model with another ridge or other constraints, without a pass over rows.

        Landmarks and moments are those that the model has, so that a path of ridges costs
        little more than one. The model itself stays as it is. Only ``"exponential"`` positivity
        passes over the rows again, as its likelihood is no function of moments; where no ridge
        was selected for it or is given, one is.

        Parameters
        ----------
        **params
            New values of ``regularization``, ``positivity``, ``marginals``,
            ``normalization`` or ``grid_rows``, whichever the estimator has. All others
            need :meth:`fit`.

        Returns
        -------
        estimator
            A new model, fitted to the same rows. If a ridge is given, its ``selection_``
            is None; kernels and degrees are still those that were selected.

        Examples
        --------
        >>> import numpy as np
        >>> import jointdist as jd
        >>> x = np.arange(50.0)[:, None]
        >>> model = jd.JointDistribution(random_state=0).fit(x, np.sqrt(x[:, 0]))
        >>> flat = model.refit(regularization=1e3)
        >>> bool(np.ptp(flat.predict(x)) < np.ptp(model.predict(x)))
        True
        """
        check_is_fitted(self)
        names = [name for name in self.get_params(deep=False) if name in _SOLVED]
        known, rule = set(params) <= set(names), f"among {names}; others need `fit`"
        where, ridge = f"{self._name}.refit", params.get("regularization")
        require(known, where, "params", rule, list(params))
        rule = 'a number of at least 0; "auto" needs `fit`'
        auto = isinstance(ridge, str) and ridge == "auto"
        require(not auto, where, "regularization", rule, ridge)
        model = self._as_fitted().set_params(**params)
        if "regularization" in params:  # nothing selected this ridge
            model._chosen = replace(model._chosen, selected=None)  # noqa: SLF001
        model._check_again(where)  # noqa: SLF001
        return model._solve_again()  # noqa: SLF001

    def reweighted(self, X: object = None, *, weights: object = None) -> Reweighted:
        """Return the model under another distribution of X, with the same p(y | x).

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (k, d_x), optional
            Rows of X from the new distribution.
        weights : array of shape (k,) or (n,), optional
            Weights of these rows; without ``X``, of the support points of X.

        Returns
        -------
        Reweighted
            The model under the new distribution, with the marginal of Y that follows.
        """
        check_is_fitted(self)
        rows = None if X is None else self._read_x("reweighted", "X", X).kept()
        where = f"{self._name}.reweighted"
        return reweighted(self, self._fitted, rows, weights, where)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a skill of 0.5 is much, unlike an R² of it
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "allow"
        return tags

    @abstractmethod
    def _check(self) -> None:
        """Raise unless the parameters obey their rules."""

    def _check_again(self, where: str) -> None:  # noqa: ARG002  # others need it
        """Raise unless a fitted model can have the parameters of a refit."""
        self._check()

    @abstractmethod
    def _solve_again(self) -> Self:
        """Fit to the same rows after parameters of the program have changed."""

    @property
    def _name(self) -> str:
        return self._caller or type(self).__name__

    @property
    def _encodings(self) -> tuple[Encoding, Encoding]:
        return self._fitted.kept.encodings

    @property
    def _design(self) -> Design:
        """What became of the columns of X."""
        return self._fitted.kept.design

    @property
    def encoding_(self) -> Design:
        """What became of the columns of X."""
        check_is_fitted(self)
        return self._design

    def _ridge(self, chosen: Any, size: float) -> float:
        """Return the ridge: the one given, or as strong as the one selected."""
        if isinstance(self.regularization, str):
            return float(chosen.strength / size)
        return float(self.regularization)

    @property
    def _fit(self) -> Fit:
        """What the fit has in common with its updates."""
        judges = None
        if self._fitted.kept.dependent:
            judges = Judges(None, self._fitted.tuned)
        return Fit(self._chosen, self._seed, self._columns, judges)

    def _keep(self, fit: Fit, fitted: Any, **learned: Any) -> Self:
        """Set all fitted attributes at once, and warn if the solution is inexact."""
        solution, columns = fitted.solution, fit.columns
        if not solution.status.ok:
            msg = f"{self._name}: {solution.sentence} {solution!r}"
            warn_user(msg, ToleranceWarning)
        learned |= columns | {"_columns": columns, "_fitted": fitted, "_seed": fit.seed}
        learned |= {"solution_": solution, "coefficients_": solution.value}
        learned |= {"selection_": fit.chosen.selected, "_chosen": fit.chosen}
        return self._set_fitted(learned)

    def _question(self, method: str, name: str, X: object, side: int = 0) -> Any:
        """Return a question by the names of columns as a table."""
        where = f"{self._name}.{method}"
        columns = self._encodings[1] if side else self._design.shown
        return as_question(X, columns, where=where, name=name)

    def _read_x(self, method: str, name: str, X: object) -> Rows:
        where = f"{self._name}.{method}"
        return read_x(self, self._design, X, where=where, name=name)

    def _read_rows(self, method: str, X: object, Y: object) -> tuple[Rows, Rows]:
        where = f"{self._name}.{method}"
        require_columns(self, X)
        y = self._encodings[1].encode(Y, where=where, name="Y", vector=True)
        x = self._design.pair(X, y, where=where, name="X", missing=self.missing)
        return x, y

    @property
    def _fitted_model(self) -> Fitted:
        """What answers questions."""
        return self._fitted

    def _given_x(self, x: object) -> Conditional:
        """Return the distributions of Y given rows of X."""
        x = self._question("given", "x", x)
        rows, absent = self._read_question("given", "x", x)
        rows = rows.kept()
        dists = self._answers("given", Question(rows, absent))
        return self._answer(answering(dists, rows, index_of(x)))

    def _answers(self, method: str, question: Question) -> Distributions:
        """Return the distributions of Y at rows; warn if many are out of distribution."""
        found = answers(self._fitted, question)
        where = f"{self._name}.{method}"
        warn_if_novel(where, question, found.conditions, self._fitted)
        return found

    def _given_where(self, event: object) -> Conditional:
        """Return the distribution of Y given that X lies in a set."""
        where, fitted = f"{self._name}.given", self._fitted
        inside = in_event(event, fitted.points_x, fitted.design_x, where)
        return self._answer(Conditional(fitted.of_y_within(inside)))

    def _read_question(self, method: str, name: str, X: object) -> Question:
        where = f"{self._name}.{method}"
        return read_question(self, self._design, X, where=where, name=name)

    def _read_pair(
        self, method: str, X: object, Y: object, *, paired: bool = True
    ) -> tuple[Rows, Rows]:
        return self._paired(method, self._read_x(method, "X", X), Y, paired=paired)

    def _paired(
        self, method: str, x: Rows, Y: object, *, paired: bool = True
    ) -> tuple[Rows, Rows]:
        where = f"{self._name}.{method}"
        y = self._encodings[1].encode(Y, where=where, name="Y", vector=True)
        rule = f"as long as `X` ({x.n} rows)"
        require(not paired or x.n == y.n, where, "Y", rule, Text(f"{y.n} rows"))
        return x, y
