"""Low-rank kernel logistic regression (paper, section `sec:klr`)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Array, Vector, to_numpy
from jointdist._rules import Seed, Text, require
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.moments import Precision
from jointdist.models._arguments import (
    PairedData,
    read_question,
    table_options,
)
from jointdist.models._fitted_state import FittedState
from jointdist.models._labelled import LabelledData, read_labelled
from jointdist.models._logistic import (
    ReducedLogistic,
    averaged_scores,
    feature_blocks,
    reduce_logistic,
    require_logistic,
    solve_logistic,
)
from jointdist.programs.logistic import LogisticSolution
from jointdist.selection.logistic_loss import (
    log_probabilities,
    probabilities,
)
from jointdist.selection.specification import Selected, Selection

__all__ = ["KernelLogisticRegression"]

_NAME = "KernelLogisticRegression"


class KernelLogisticRegression(ClassifierMixin, FittedState):
    r"""Probabilities of classes, by logistic regression in the space of a kernel.

    In the low-rank basis :math:`\Psi` of the kernel, orthonormal in its space, the scores
    are :math:`\Psi(x) c + b`, and the coefficients minimise

    .. math:: \sum_i w_i\, \ell(y_i, \Psi(x_i) c + b) + \lambda |c|_2^2

    with the logistic loss, or the symmetric softmax for more than two classes. With
    ``fit_intercept=False`` it is the classifier of the paper, section `sec:klr`.

    Parameters
    ----------
    kernel_x : Kernel or "auto", default="auto"
        The kernel. By default a Gaussian of numeric columns, times a Delta for each
        categorical column, with length scales chosen by ``selection``.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`, positive; by default chosen by ``selection``, among nine
        from 0.001 to 10 times the mean of :math:`k(x, x)`, or less for wide kernels. As the
        loss is a sum, a ridge that is good for a subsample is good for all rows.
    fit_intercept : bool, default=True
        Whether there is an intercept :math:`b`, which is not penalised. Without one, all
        classes are equally likely out of distribution, however rare they are.
    class_weight : "balanced" or dict, optional
        The weight of each class, which multiplies that of its rows. ``"balanced"``: all
        classes have the same total weight, and all rows together the same as without.
    tol : float, default=1e-3
        The share of the trace of the kernel matrix that its low-rank factor may lose. Up
        to 512 rows are factored to rounding.
    max_rank : int, optional
        The largest rank of the factor; by default 2,048, or 1,024 for a kernel that was
        chosen, whose trace error may then exceed ``tol`` without a warning.
    pivoting : {"auto", "rp", "greedy", "random", "column"}, default="auto"
        How pivots are chosen; see :func:`~jointdist.pivoted_cholesky`.
    precision : {"float64", "float32"}, default="float64"
        The precision of second derivatives, the most costly part. The optimum is the same.
    max_iter : int, default=500
        The largest number of steps of Newton's method.
    support_size : int, default=65_536
        The most rows that the model keeps, for :meth:`refit` alone: the logistic loss has no
        sums that would do instead.
    selection : Selection, optional
        How kernel and ridge are chosen; by default by the log loss in five-fold
        cross-validation, on up to 4,096 rows. Its criterion is one of ``"log_score"``, the
        log loss with probabilities clipped as in Eq. `eq:logisticloss` of the paper;
        ``"energy"`` or ``"energy_score"``, half the Brier score; or a function of
        probabilities, of shape ``(q, K)``, and labels that returns a number, or one for
        each row. Subsamples of more rows are stratified, and weighted accordingly.
    missing, unknown : str
        As in :class:`~jointdist.JointDistribution`.
    random_state : int, Generator, RandomState, optional
        The seed of pivots and of choices of rows.
    executor : Executor, optional
        Runs the row blocks.
    verbose : int, default=1
        Whether long computations show their progress on a terminal.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The labels, sorted, without those whose rows have no weight.
    coefficients_ : array of shape (1, m) or (K, m)
        The coefficients :math:`c`; for two classes those of the second.
    intercept_ : array of shape (1,) or (K,)
        The intercepts :math:`b`; zero if there are none.
    basis_x_ : Basis
        The basis, with rank, pivots and trace error.
    solution_ : LogisticSolution
        The solution of the program: status, certificate.
    regularization_ : float
        The ridge.
    kernel_x_ : Kernel
        The kernel.
    selection_ : Selected or None
        The candidates for kernel and ridge with their scores; None if both were given.
    n_iter_ : int
        The number of steps of Newton's method.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X is a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = jd.KernelLogisticRegression(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'other'], dtype='<U5')
    >>> model.predict_proba([[1.0, 1.0]]).round(2)
    array([[0., 1.]])
    """

    n_features_in_: int
    basis_x_: Basis
    classes_: NDArray[Any]
    coefficients_: Vector
    intercept_: Vector
    solution_: LogisticSolution
    selection_: Selected | None
    kernel_x_: Kernel
    _encoding: Encoding
    _made: Design | None = None  # what became of the columns of X, if not plain
    _kept: Sample | None  # the rows with the codes of their classes, if they are kept
    _columns: dict[str, Any]

    def __init__(
        self,
        kernel_x: Kernel | str = "auto",
        *,
        regularization: float | str = "auto",
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        max_rank: int | None = None,
        pivoting: Pivoting = "auto",
        precision: Precision = "float64",
        max_iter: int = 500,
        support_size: int = 65_536,
        selection: Selection | None = None,
        missing: str = "allow",
        unknown: str = "prior",
        random_state: Seed = None,
        executor: Executor | None = None,
        verbose: int = 1,
    ) -> None:
        self.kernel_x = kernel_x
        self.regularization = regularization
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_rank = max_rank
        self.pivoting = pivoting
        self.precision = precision
        self.max_iter = max_iter
        self.support_size = support_size
        self.selection = selection
        self.missing = missing
        self.unknown = unknown
        self.random_state = random_state
        self.executor = executor
        self.verbose = verbose

    def fit(
        self, X: object, y: object, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Learn the probabilities of the classes.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d)
            The rows; columns of strings are categorical.
        y : array, Series or sequence of shape (n,)
            Their labels: strings, integers, or True and False.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a row of weight two counts as two rows.
        groups : array, Series or sequence of shape (n,), optional
            The group of each row. Rows of a group depend on each other: they are held out
            together, wherever rows are.
        """
        require_logistic(self)
        auto = isinstance(self.regularization, str)
        ridges = None if auto else (float(self.regularization),)
        data = self._read(X, y, sample_weight, groups)
        return self._solve(reduce_logistic(self, data, ridges))

    def path(
        self,
        X: object,
        y: object,
        regularizations: Sequence[float],
        sample_weight: object = None,
        groups: object = None,
    ) -> list[Self]:
        """Return a fitted model for each ridge, from one factor of the kernel matrix.

        Each fit starts from that of the next larger ridge. With ``kernel_x="auto"`` the
        kernel is the best one with the best of these ridges.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d)
            The rows.
        y : array, Series or sequence of shape (n,)
            Their labels.
        regularizations : sequence of float
            The ridges, in any order; the models are returned in the same order.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        groups : array, Series or sequence of shape (n,), optional
            The group of each row.
        """
        several = isinstance(regularizations, Sequence | np.ndarray)
        several = several and not isinstance(regularizations, str)
        rule = "a sequence of positive numbers"
        require(several, f"{_NAME}.path", "regularizations", rule, regularizations)
        models = [clone(self).set_params(regularization=r) for r in regularizations]
        for model in models:
            require_logistic(model)
        ridges = tuple(float(r) for r in regularizations)
        data = self._read(X, y, sample_weight, groups)
        reduced, start = reduce_logistic(self, data, ridges), None
        for model in sorted(models, key=lambda model: -model.regularization):
            start = model._solve(reduced, start).solution_  # noqa: SLF001
        return models

    def refit(self, **params: Any) -> Self:
        """Return the model with another ridge, with the same kernel and landmarks.

        The model itself stays as it is. It must have kept its rows; see ``support_size``.

        Parameters
        ----------
        **params
            New values of ``regularization``, ``precision`` or ``max_iter``. All others need
            :meth:`fit`.

        Examples
        --------
        >>> import numpy as np
        >>> import jointdist as jd
        >>> X = np.random.default_rng(0).normal(size=(200, 1))
        >>> model = jd.KernelLogisticRegression(random_state=0).fit(X, X[:, 0] > 0)
        >>> flat = model.refit(regularization=1e4)
        >>> bool(np.ptp(flat.predict_proba(X)) < np.ptp(model.predict_proba(X)))
        True
        """
        check_is_fitted(self)
        where, known = f"{_NAME}.refit", ["regularization", "precision", "max_iter"]
        rule = f"among {known}; others need `fit`"
        require(set(params) <= set(known), where, "params", rule, list(params))
        rule = 'a positive number; "auto" needs `fit`'
        ridge = params.get("regularization", 1.0)
        require(not isinstance(ridge, str), where, "regularization", rule, ridge)
        got = Text("more, which were not kept; call `fit`, or raise `support_size` before")
        rule = f"of at most `support_size` = {self.support_size:,} rows"
        require(self._kept is not None, where, "X", rule, got)
        model = self._as_fitted().set_params(**params)
        require_logistic(model)
        return model._solve_again("regularization" in params)  # noqa: SLF001

    def _solve_again(self, given: bool) -> Self:
        """Solve again with the rows that are kept; nothing selected a ridge that is given."""
        kept = self._kept
        assert kept is not None  # noqa: S101  # for type checkers
        codes = to_numpy(kept.y.read(0, kept.n))[:, 0].astype(np.intp)
        encodings = self._encoding, Encoding((None,))
        common = self._columns, np.random.default_rng(0), 0, self._made
        pair = PairedData(kept, encodings, *common)
        data = LabelledData(pair, kept, self.classes_, codes)
        blocks = feature_blocks(self, self.basis_x_, kept.x)
        selected = None if given else self.selection_
        found = selected, self.kernel_x_, self.basis_x_, blocks, kept
        return self._solve(ReducedLogistic(data, *found))

    def decision_function(self, X: object) -> Vector:
        """Return the scores of rows: ``(q,)`` for two classes, otherwise ``(q, K)``.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        f = self._scores("decision_function", X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: object) -> Any:
        """Return the most likely labels of rows.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        f = self._scores("predict", X)
        codes = f[:, 0] > 0 if f.shape[1] == 1 else f.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes.astype(np.intp)]
        return self._forecast(labels, X, ("y",))

    def predict_proba(self, X: object) -> Any:
        """Return the probabilities of the classes, of shape ``(q, K)``.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        found = probabilities(self._scores("predict_proba", X))
        return self._of_classes(found, X)

    def predict_log_proba(self, X: object) -> Any:
        """Return the logarithms of the probabilities, of shape ``(q, K)``.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        found = log_probabilities(self._scores("predict_log_proba", X))
        return self._of_classes(found, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "allow"
        return tags

    def _read(
        self, X: object, y: object, sample_weight: object, groups: object
    ) -> LabelledData:
        return read_labelled(
            _NAME,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            seed=self.random_state,
            how=table_options(self),
            cv=5 if self.selection is None else self.selection.cv,
            groups=groups,
        )

    def _solve(
        self, reduced: ReducedLogistic, start: LogisticSolution | None = None
    ) -> Self:
        """Solve for the coefficients, and set all fitted attributes."""
        found, ridge = solve_logistic(self, reduced, start)
        return self._set_fitted(
            reduced.data.pair.columns
            | {
                "_encoding": reduced.data.pair.encodings[0],
                "_made": reduced.data.pair.made,
                "classes_": reduced.data.classes,
                "kernel_x_": reduced.kernel,
                "basis_x_": reduced.basis,
                "regularization_": ridge,
                "solution_": found,
                "selection_": reduced.selected,
                "coefficients_": found.value,
                "intercept_": found.intercept,
                "n_iter_": found.iterations,
                "_kept": reduced.kept,
                "_columns": reduced.data.pair.columns,
            }
        )

    @property
    def encoding_(self) -> Design:
        """What became of the columns of X."""
        check_is_fitted(self)
        return Design.plain(self._encoding) if self._made is None else self._made

    def _scores(self, method: str, X: object) -> Vector:
        """Return the scores of rows, of shape (q, 1) or (q, K).

        Where entries are missing, they are those of the mean probabilities over donors.
        """
        check_is_fitted(self)
        where, design = f"{_NAME}.{method}", self.encoding_
        rows, absent = read_question(self, design, X, where=where)
        if absent is None:
            return self._scores_at(rows)
        return averaged_scores(self._scores_at, rows, absent, self._kept, design)

    def _scores_at(self, rows: Rows) -> Vector:
        """Return the scores of encoded rows."""

        def block(_start: int, z: Array) -> Vector:
            f: Vector = host_features(self.basis_x_, z) @ self.coefficients_.T
            return f + self.intercept_

        return np.concatenate(list(executor_for(rows, self.executor).map(block, rows)))
