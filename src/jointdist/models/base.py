"""What estimators of conditional distributions share: questions and incremental updates."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Vector, to_numpy
from jointdist._rules import Seed, Text, require
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.folds import Folds
from jointdist.data.table import Rows, as_weights
from jointdist.distributions.device_answers import answering
from jointdist.distributions.linear import LinearDistributions
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.moments import Moments
from jointdist.models._arguments import PairedData, read_pair, read_x, y_for_Y
from jointdist.models.exact_updates import ExactUpdates
from jointdist.models.fold_calibration import Judges
from jointdist.models.kept_sample import KeptSample
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


class Fitted(Protocol):
    """A fitted model of the conditional distributions of Y given X."""

    @property
    def kept(self) -> KeptSample:
        """What is kept of the sample."""

    @property
    def tuned(self) -> tuple[float | None, float | None]:
        """The ridges of the projections of Y given X, and of X given Y."""

    def of_y(self, x: Rows) -> LinearDistributions:
        """Return the distributions of Y given rows of X."""

    def energy_scores(self, x: Rows, y: Vector) -> tuple[Vector, Vector]:
        """Return the energy scores of the distributions at rows, and of the marginal."""


class DistributionEstimator(RegressorMixin, ExactUpdates):
    """An estimator of the conditional distributions of Y given X.

    Each estimator writes its algorithm in ``fit``; here is what follows from a fit.
    """

    n_features_in_: int
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
        return read_pair(self._name, *rows, cv=cv, groups=groups, folds=self._folds)

    def predict(self, X: object) -> Any:
        """Return the conditional means of Y; for categories, the most likely ones.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        """
        check_is_fitted(self)
        rows = self._read_x("predict", "X", X)
        dist = answering(self._fitted.of_y(rows), rows)
        return dist.mean() if self._encodings[1].numeric else dist.mode()

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
        x, y = self._read_pair("score", X, Y)
        weights = as_weights(sample_weight, x)
        scores = self._fitted.energy_scores(x, to_numpy(y.read(0, y.n)))
        own, marginal = (float(np.average(score, weights=weights)) for score in scores)
        if marginal <= 0:  # Y is constant, and so is the sample: nothing to forecast
            return 1.0 if own <= 0 else 0.0
        return 1 - own / marginal

    def refit(self, **params: Any) -> Self:
        """Return the model with another ridge or other constraints, without a pass over rows.

        Landmarks and moments are those that the model has, so that a path of ridges costs
        little more than one. The model itself stays as it is.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a skill of 0.5 is much, unlike an R² of it
        tags.input_tags.categorical = tags.input_tags.string = True
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
            msg = f"{self._name}: {solution.status.value} {solution!r}"
            warn_user(msg, ToleranceWarning)
        learned |= columns | {"_columns": columns, "_fitted": fitted, "_seed": fit.seed}
        learned |= {"solution_": solution, "coefficients_": solution.value}
        learned |= {"selection_": fit.chosen.selected, "_chosen": fit.chosen}
        return self._set_fitted(learned)

    def _read_x(self, method: str, name: str, X: object) -> Rows:
        where = f"{self._name}.{method}"
        return read_x(self, self._encodings[0], X, where=where, name=name)

    def _read_pair(
        self, method: str, X: object, Y: object, *, paired: bool = True
    ) -> tuple[Rows, Rows]:
        where = f"{self._name}.{method}"
        x = self._read_x(method, "X", X)
        y = self._encodings[1].encode(Y, where=where, name="Y", vector=True)
        rule = f"as long as `X` ({x.n} rows)"
        require(not paired or x.n == y.n, where, "Y", rule, Text(f"{y.n} rows"))
        return x, y
