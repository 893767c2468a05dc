"""Low-rank kernel logistic regression (paper, section `sec:klr`)."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from jointdist._array import Array, Vector
from jointdist._params import NestedParameters
from jointdist._progress import progress
from jointdist._random import Seed, generator
from jointdist.data.encoding import Encoding, learn_encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.labels import class_weights, learn_labels
from jointdist.data.sample import Sample
from jointdist.data.table import Rows, as_weights
from jointdist.errors import Text, ToleranceWarning, is_number, is_whole, require
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family, family_of
from jointdist.lowrank.basis import Basis, host_features, orthogonal
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.moments import Precision
from jointdist.lowrank.randomized import warn_if_short
from jointdist.models._arguments import require_arguments
from jointdist.models._kernel_fits import EXACT
from jointdist.models._reading import read_x
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.logistic import LogisticSolution, logistic
from jointdist.selection.config import Selected, Selection, require_selection
from jointdist.selection.kernel_search import Factoring
from jointdist.selection.logistic_search import (
    LogisticContest,
    loss_of,
    probabilities,
    thinned,
)
from jointdist.selection.search import CrossValidation

__all__ = ["KernelLogisticRegression"]

_NAME = "KernelLogisticRegression"
_RIDGE = 0.01  # where there is nothing to choose it by
_RANK = 1024  # of the factor of a kernel that was chosen, at most


class _Learned(NamedTuple):
    """What the fits for all ridges share."""

    encoding: Encoding
    kernel: Kernel
    basis: Basis
    blocks: Blocks
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    weights: Vector | None
    selected: Selected | None


class KernelLogisticRegression(ClassifierMixin, NestedParameters, BaseEstimator):
    r"""Probabilities of classes, by logistic regression in the space of a kernel.

    In the low-rank basis :math:`\Psi` of the kernel, orthonormal in its space, the scores
    are :math:`\Psi(x) c + b`, and the coefficients minimise

    .. math:: \sum_i w_i\, \ell(y_i, \Psi(x_i) c + b) + \lambda |c|_2^2

    with the logistic loss, or the symmetric softmax for more than two classes. With
    ``fit_intercept=False`` it is the classifier of the paper, section `sec:klr`.

    Parameters
    ----------
    kernel_x : Kernel or "auto", default="auto"
        The kernel. By default a Gaussian for numbers, times a Delta for each column of
        words, with scales chosen by ``selection``.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`, positive; by default chosen by ``selection``, among nine
        from 0.001 to 10 times the mean of :math:`k(x, x)`, or less for wide kernels. As the
        loss is a sum, what is good for some of the rows is good for all of them.
    fit_intercept : bool, default=True
        Whether there is an intercept :math:`b`, which is not penalised. Without one, far
        from the sample all classes are equally likely, however rare they are.
    class_weight : "balanced" or dict, optional
        The weight of each class, which multiplies that of its rows. ``"balanced"``: every
        class counts the same, and all together as before.
    tol : float, default=1e-3
        The share of the trace of the kernel matrix that its low-rank factor may lose. Up
        to 512 rows are factored to rounding.
    max_rank : int, optional
        The largest rank of the factor; by default 2,048, or 1,024 for a kernel that was
        chosen, whose trace error is then what it is.
    pivoting : {"auto", "rp", "greedy", "random", "column"}, default="auto"
        How pivots are chosen; see :func:`~jointdist.pivoted_cholesky`.
    precision : {"float64", "float32"}, default="float64"
        The precision of second derivatives, the most costly part. The optimum is the same.
    max_iter : int, default=500
        The most steps of Newton's method.
    selection : Selection, optional
        How kernel and ridge are chosen, if they are; by default by the log loss in
        five-fold cross-validation, on up to 4,096 rows. Its criterion is one of
        ``"log_score"``, the log loss, clipped as in Eq. `eq:logisticloss`; ``"energy"`` or
        ``"energy_score"``, half the Brier score; or a function of probabilities, of shape
        ``(q, K)``, and labels that returns a number, or one for each row. Rows of rare
        classes are preferred, and weighted accordingly.
    random_state : int, Generator, RandomState, optional
        The seed of pivots and of choices of rows.
    executor : Executor, optional
        How row blocks are worked on.
    verbose : int, default=1
        Whether long work shows its progress, on a terminal.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The labels, sorted; those whose rows have no weight are left out.
    coefficients_ : array of shape (1, m) or (K, m)
        The coefficients :math:`c`: for two classes those of the second.
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
        What was tried to find kernel and ridge, and how it fared.
    n_iter_ : int
        The steps of Newton's method.
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
        selection: Selection | None = None,
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
        self.selection = selection
        self.random_state = random_state
        self.executor = executor
        self.verbose = verbose

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn the probabilities of the classes.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d)
            The rows; columns of words are categories.
        y : array, Series or sequence of shape (n,)
            Their labels: words, whole numbers, or True and False.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a row of weight two counts as two rows.

        Returns
        -------
        KernelLogisticRegression
            The model itself.
        """
        self._check()
        auto = isinstance(self.regularization, str)
        ridges = None if auto else (float(self.regularization),)
        return self._solve(X, self._learn(X, y, sample_weight, ridges), None)

    def path(
        self,
        X: object,
        y: object,
        regularizations: Sequence[float],
        sample_weight: object = None,
    ) -> list[Self]:
        """Return a fitted model for each ridge, from one factor of the kernel matrix.

        The fits start from each other, from the largest ridge down. A kernel that is to
        be chosen is the one that is best with the best of these ridges.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d)
            The rows.
        y : array, Series or sequence of shape (n,)
            Their labels.
        regularizations : sequence of float
            The ridges, in any order: that of the models.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        several = isinstance(regularizations, Sequence | np.ndarray)
        several = several and not isinstance(regularizations, str)
        rule = "a sequence of positive numbers"
        require(several, f"{_NAME}.path", "regularizations", rule, regularizations)
        models = [clone(self).set_params(regularization=r) for r in regularizations]
        for model in models:
            model._check()  # noqa: SLF001
        ridges = tuple(float(r) for r in regularizations)
        learned, start = self._learn(X, y, sample_weight, ridges), None
        for model in sorted(models, key=lambda model: -model.regularization):
            start = model._solve(X, learned, start).solution_  # noqa: SLF001
        return models

    def decision_function(self, X: object) -> Vector:
        """Return the scores of rows: ``(q,)`` for two classes, otherwise ``(q, K)``.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        f = self._scores("decision_function", X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: object) -> NDArray[Any]:
        """Return the most likely labels of rows.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        f = self._scores("predict", X)
        codes = f[:, 0] > 0 if f.shape[1] == 1 else f.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes.astype(np.intp)]
        return labels

    def predict_proba(self, X: object) -> Vector:
        """Return the probabilities of the classes, of shape ``(q, K)``.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        return probabilities(self._scores("predict_proba", X))

    def predict_log_proba(self, X: object) -> Vector:
        """Return the logarithms of the probabilities, of shape ``(q, K)``.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            The rows.
        """
        f = self._scores("predict_log_proba", X)
        two = f.shape[1] == 1
        p: Vector = log_expit(np.hstack([-f, f])) if two else log_softmax(f, axis=1)
        return p

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _check(self) -> None:
        """Raise unless the arguments obey their rules."""
        ridge, auto = self.regularization, isinstance(self.regularization, str)
        good = ridge == "auto" if auto else is_number(ridge, least=np.finfo(float).tiny)
        require(good, _NAME, "regularization", 'a positive number, or "auto"', ridge)
        flag = isinstance(self.fit_intercept, bool | np.bool)
        require(flag, _NAME, "fit_intercept", "True or False", self.fit_intercept)
        require_arguments(_NAME, tol=self.tol)
        allowed = get_args(Precision)
        known = self.precision in allowed
        require(known, _NAME, "precision", f"one of {allowed}", self.precision)
        whole = is_whole(self.max_iter, least=1)
        require(whole, _NAME, "max_iter", "an integer of at least 1", self.max_iter)
        require_selection(_NAME, self.selection, self.verbose)

    def _learn(
        self,
        X: object,
        y: object,
        sample_weight: object,
        ridges: tuple[float, ...] | None,
    ) -> _Learned:
        """Return the basis, its values at all rows, and the classes of the rows."""
        encoding, rows = learn_encoding(X, where=_NAME, name="X")
        labels = learn_labels(y, n=rows.n, where=_NAME)
        weights = as_weights(sample_weight, rows)
        weights = class_weights(labels, self.class_weight, weights, _NAME)
        there = np.bincount(labels.codes, weights) > 0
        classes = labels.classes[there]
        got = Text(f"one class only: {classes.tolist()[0]!r}")
        require(len(classes) > 1, _NAME, "y", "of at least two classes", got)
        codes = np.maximum(np.cumsum(there) - 1, 0)[labels.codes]
        rng = generator(_NAME, self.random_state)
        seed = int(rng.integers(2**32))
        executor = executor_for(rows, self.executor)
        family = family_of("x", self.kernel_x, encoding, rows, weights=weights, rng=rng)
        column = Rows(codes[:, None].astype(np.float64), _NAME, "y")
        sample = Sample(rows, column, weights, encoding.of_words)
        selected = self._selected(family, sample, classes, ridges, seed)
        kernel = family.at(1.0) if selected is None else selected.chosen.kernel_x
        assert kernel is not None  # noqa: S101  # for type checkers
        basis = self._basis(kernel, sample, seed, executor)

        def features(block: slice) -> Vector:
            return host_features(basis, rows.read(block.start, block.stop))

        blocks = Blocks(rows.n, basis.rank, features, bool(self.fit_intercept), executor)
        return _Learned(encoding, kernel, basis, blocks, classes, codes, weights, selected)

    def _basis(
        self, kernel: Kernel, sample: Sample, seed: int, executor: Executor
    ) -> Basis:
        """Return the basis of all rows; with a warning if it falls short of the tolerance,
        unless the kernel was chosen.
        """
        auto, rows, weights = isinstance(self.kernel_x, str), sample.x, sample.weights
        counted = sample.n if weights is None else np.count_nonzero(weights)
        tol = 0.0 if counted <= EXACT and self.max_rank is None else self.tol
        how = Factoring(tol, self.max_rank, self.pivoting, seed, executor)
        low = how.factored("kernel_x", kernel, rows, weights, _RANK if auto else None)
        if not auto:
            warn_if_short(_NAME, "X", how.goal(rows), low)
        return orthogonal(low, weights, executor=executor)

    def _selected(
        self,
        family: Family,
        sample: Sample,
        classes: NDArray[Any],
        ridges: tuple[float, ...] | None,
        seed: int,
    ) -> Selected | None:
        """Return the best kernel and ridge; None if there is nothing to choose, or no rows
        that could tell.
        """
        how = Selection("log_score") if self.selection is None else self.selection
        loss = loss_of(_NAME, how.criterion, classes)
        positive = 0.0 not in (how.regularizations or ())
        rule = "None, or of positive `regularizations`"
        require(positive, _NAME, "selection", rule, how.regularizations)
        if not (ridges is None or family.free):
            return None
        how = how if ridges is None else replace(how, regularizations=ridges)
        factoring = Factoring(self.tol, self.max_rank, self.pivoting, seed)
        repeated, intercept = self.class_weight is None, bool(self.fit_intercept)
        with progress(f"{_NAME}: kernel and ridge", verbose=self.verbose) as tell:
            few = thinned(_NAME, sample, how.rows, seed)
            contest = CrossValidation(
                _NAME,
                how,
                few,
                seed,
                tell,
                executor=executor_for(few.x, self.executor),
                summed=True,
                repeated=repeated,
            )
            trials = LogisticContest(contest, factoring, loss, intercept=intercept)
            if not trials.held:
                return None
            trials.run(family)
            return contest.result()

    def _solve(self, X: object, learned: _Learned, start: LogisticSolution | None) -> Self:
        validate_data(self, X, reset=True, skip_check_array=True)
        self.regularization_, self.selection_ = self._ridge(learned), learned.selected
        self._coding, self.kernel_x_ = learned.encoding, learned.kernel
        self.basis_x_, self.classes_ = learned.basis, learned.classes
        found = logistic(
            learned.blocks,
            learned.codes,
            self.regularization_,
            classes=len(learned.classes),
            weights=learned.weights,
            precision=self.precision,
            start=start,
            max_iter=self.max_iter,
        )
        self.solution_, self.n_iter_ = found, found.iterations
        self.coefficients_, self.intercept_ = found.value, found.intercept
        if not found.status.ok:
            remedy = "Raise `max_iter` or `regularization`."
            if found.iterations < self.max_iter:
                remedy = "Rounding is in the way: raise `regularization`, or scale columns."
            msg = (
                f"{_NAME}: Newton's method stopped before the optimum is certain, after "
                f"{found.iterations} steps. {remedy} {found!r}"
            )
            warnings.warn(msg, ToleranceWarning, stacklevel=3)
        return self

    def _ridge(self, learned: _Learned) -> float:
        if not isinstance(self.regularization, str):
            return float(self.regularization)
        return _RIDGE if learned.selected is None else learned.selected.regularization

    def _scores(self, method: str, X: object) -> Vector:
        """Return the scores of rows, of shape (q, 1) or (q, K)."""
        check_is_fitted(self)
        rows = read_x(self, self._coding, X, where=f"{_NAME}.{method}")

        def block(_start: int, z: Array) -> Vector:
            f: Vector = host_features(self.basis_x_, z) @ self.coefficients_.T
            return f + self.intercept_

        return np.concatenate(list(executor_for(rows, self.executor).map(block, rows)))
