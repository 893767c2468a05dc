"""Low-rank kernel logistic regression (paper, section `sec:klr`)."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from jointdist._array import Array, to_numpy
from jointdist.atoms import Vector, host_features
from jointdist.basis import Basis, orthogonal
from jointdist.choice import relevant
from jointdist.coding import Coding, learn_coding
from jointdist.errors import ToleranceWarning, Words, is_number, is_whole, require
from jointdist.estimator import EXACT, require_columns
from jointdist.executor import Executor, executor_for, one_blas_thread
from jointdist.fitting import require_arguments
from jointdist.kernels import Delta, Kernel
from jointdist.labels import class_weights, learn_labels
from jointdist.lowrank import LowRank, factored, warn_if_short
from jointdist.moments import Precision
from jointdist.parameters import NestedParameters
from jointdist.programs.blocks import Blocks
from jointdist.programs.logistic import LogisticSolution, logistic
from jointdist.progress import progress
from jointdist.rows import Rows, as_weights
from jointdist.sample import Sample
from jointdist.scales import Family, family_of
from jointdist.search import (
    Goal,
    Pivoting,
    Search,
    Seed,
    checked_goal,
    generator,
    kernel_rounding,
)
from jointdist.selection import Candidate, Selected, Selection, require_selection
from jointdist.tuning import Climb, Contest

__all__ = ["KernelLogisticRegression"]

Codes: TypeAlias = NDArray[np.intp]
Loss: TypeAlias = Callable[[Vector, Codes], ArrayLike]

_NAME = "KernelLogisticRegression"
_RIDGE = 0.01  # where there is nothing to choose it by
_RIDGES = 10.0 ** np.arange(1, -3.1, -0.5)  # for a kernel of unit diagonal
_WORSE = 3  # ridges in a row that are worse, after which smaller ones are not tried
_RANK = 1024  # of the factor of a kernel that was chosen, at most
_FEW = 256  # of the factor of a candidate, at most
_GAP = 1e-4  # of the fits of candidates
_LEAST = 1e-12  # of probabilities, Eq. `eq:logisticloss`


class _Learned(NamedTuple):
    """What the fits for all ridges share."""

    coding: Coding
    kernel: Kernel
    basis: Basis
    blocks: Blocks
    classes: NDArray[Any]
    codes: Codes
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
        return _probabilities(self._scores("predict_proba", X))

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
        coding, rows = learn_coding(X, where=_NAME, name="X")
        labels = learn_labels(y, n=rows.n, where=_NAME)
        weights = as_weights(sample_weight, rows)
        weights = class_weights(labels, self.class_weight, weights, _NAME)
        there = np.bincount(labels.codes, weights) > 0
        classes = labels.classes[there]
        got = Words(f"one class only: {classes.tolist()[0]!r}")
        require(len(classes) > 1, _NAME, "y", "of at least two classes", got)
        codes = np.maximum(np.cumsum(there) - 1, 0)[labels.codes]
        rng = generator(_NAME, self.random_state)
        family = family_of("x", self.kernel_x, coding, rows, weights=weights, rng=rng)
        column = Rows(codes[:, None].astype(np.float64), _NAME, "y")
        sample = Sample(rows, column, weights)
        selected = self._selected(family, sample, classes, ridges, rng)
        kernel = family.at(1.0) if selected is None else selected.chosen.kernel_x
        assert kernel is not None  # noqa: S101  # for type checkers
        basis = self._basis(kernel, sample, rng)

        def features(block: slice) -> Vector:
            return host_features(basis, rows.read(block.start, block.stop))

        executor = executor_for(rows, self.executor)
        blocks = Blocks(rows.n, basis.rank, features, bool(self.fit_intercept), executor)
        return _Learned(coding, kernel, basis, blocks, classes, codes, weights, selected)

    def _basis(self, kernel: Kernel, sample: Sample, rng: np.random.Generator) -> Basis:
        """Return the basis of all rows; with a warning if it falls short of the tolerance,
        unless the kernel was chosen.
        """
        auto, weights = isinstance(self.kernel_x, str), sample.weights
        counted = sample.n if weights is None else np.count_nonzero(weights)
        tol = 0.0 if counted <= EXACT and self.max_rank is None else self.tol
        most = _RANK if auto and self.max_rank is None else self.max_rank
        goal = checked_goal(_NAME, sample.x, tol, most, self.pivoting, relative=True)
        low = self._factored(kernel, sample, goal, rng)
        if not auto:
            warn_if_short(_NAME, "X", goal, low)
        return orthogonal(low, weights, executor=executor_for(sample.x, self.executor))

    def _factored(
        self, kernel: Kernel, sample: Sample, goal: Goal, rng: np.random.Generator
    ) -> LowRank:
        rows, name = sample.x, "kernel_x"
        eps, executor = (
            kernel_rounding(kernel, rows, name),
            executor_for(rows, self.executor),
        )
        search = Search(kernel, name, eps, rows, sample.weights, goal, rng, executor)
        return factored(search, self.pivoting)

    def _selected(
        self,
        family: Family,
        sample: Sample,
        classes: NDArray[Any],
        ridges: tuple[float, ...] | None,
        rng: np.random.Generator,
    ) -> Selected | None:
        """Return the best kernel and ridge; None if there is nothing to choose, or no rows
        that could tell.
        """
        how = Selection("log_score") if self.selection is None else self.selection
        loss = _loss_of(how.criterion, classes)
        positive = 0.0 not in (how.regularizations or ())
        rule = "None, or of positive `regularizations`"
        require(positive, _NAME, "selection", rule, how.regularizations)
        if not (ridges is None or family.free):
            return None
        how = how if ridges is None else replace(how, regularizations=ridges)
        seed = int(rng.integers(2**32))

        def factor(kernel: Kernel, few: Sample) -> LowRank:
            most, rows = self.max_rank or _FEW, few.x
            goal = checked_goal(_NAME, rows, self.tol, most, self.pivoting, relative=True)
            return self._factored(kernel, few, goal, np.random.default_rng(seed))

        with progress(f"{_NAME}: kernel and ridge", verbose=self.verbose) as tell:
            few = _thinned(sample, how.rows, seed)
            repeated = self.class_weight is None
            contest = Contest(_NAME, how, few, seed, tell, summed=True, repeated=repeated)
            trials = _Trials(contest, loss, factor, intercept=bool(self.fit_intercept))
            if not trials.held:
                return None
            trials.run(family)
            return contest.result()

    def _solve(self, X: object, learned: _Learned, start: LogisticSolution | None) -> Self:
        validate_data(self, X, reset=True, skip_check_array=True)
        self.regularization_, self.selection_ = self._ridge(learned), learned.selected
        self._coding, self.kernel_x_ = learned.coding, learned.kernel
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
        require_columns(self, X)
        rows = self._coding.encode(X, where=f"{_NAME}.{method}", name="X")

        def block(_start: int, z: Array) -> Vector:
            f: Vector = host_features(self.basis_x_, z) @ self.coefficients_.T
            return f + self.intercept_

        return np.concatenate(list(executor_for(rows, self.executor).map(block, rows)))


class _Side(NamedTuple):
    """Rows in the features of a kernel."""

    F: Vector
    blocks: Blocks
    unit: float  # the mean diagonal


class _Trials:
    """Kernels and ridges, and how they fare on rows held out.

    For each kernel one factor serves all fits, in which rows held out have no weight. Those
    whose class has no others are never held out, so that all fits know all classes.
    """

    def __init__(
        self,
        contest: Contest,
        loss: Loss,
        factor: Callable[[Kernel, Sample], LowRank],
        *,
        intercept: bool,
    ) -> None:
        self.contest, self.loss, self.factor = contest, loss, factor
        self.intercept, self.sample = intercept, contest.sample
        n, weights = self.sample.n, self.sample.weights
        self.weights = np.ones(n) if weights is None else weights
        self.codes = _codes(self.sample)
        self.sizes = np.bincount(self.codes)
        parts = map(self._judges, contest.parts[: contest.folds])
        self.held = [part for part in parts if len(part)]

    def run(self, x: Family) -> None:
        """Try kernels of a family, and of one with a scale for each column.

        The latter learns from labels, and so anew from the rows of each fit.
        """
        with one_blas_thread:  # the matrices are small
            self._climb(x, [x] * len(self.held))
            if len(x.scales) > 1 and self.contest.how.scales == "each":
                every = np.arange(self.sample.n)
                rest = (np.setdiff1d(every, held) for held in self.held)
                found = Executor().each(lambda rows: self._each(x, rows), [every, *rest])
                each, *own = (family or x for family in found)
                self._climb(each, own)

    def _each(self, x: Family, rows: Codes) -> Family | None:
        indicators = np.eye(len(self.sizes))[self.codes[rows]]
        return relevant(x, self.sample.take(rows), indicators)

    def _judges(self, part: Codes) -> Codes:
        """Return the rows of a part whose class has others elsewhere."""
        own = self.codes[part]
        known = self.sizes > np.bincount(own, minlength=len(self.sizes))
        return part[known[own]]

    def _climb(self, x: Family, own: list[Family]) -> None:
        """Go down along the scales of a family, which is another one for each fit."""

        def enter(i: int, _: int) -> float:
            return self._enter(x, own, 2.0**i).score

        labels = Family(x.coding, (), Delta())  # there is nothing to choose
        Climb(enter, (x, labels)).down(0, 0)

    def _enter(self, x: Family, own: list[Family], factor: float) -> Candidate:
        """Judge a kernel with all ridges."""
        start = perf_counter()
        sides = {family: self._side(family.at(factor)) for family in dict.fromkeys(own)}
        flat = max(factor, 1.0) ** 2  # the functions of wide kernels vary little
        risks, ridges = self._path([sides[family] for family in own], flat)
        return self.contest.record(
            risks,
            ridges,
            start,
            kernel_x=x.at(factor),
            factor_x=factor,
            scales=x.name,
            rank_x=sides[own[0]].blocks.m,
            rank_y=len(self.sizes),
        )

    def _side(self, kernel: Kernel) -> _Side:
        sample, low = self.sample, self.factor(kernel, self.sample)
        F: Vector = to_numpy(low.factor)
        one = Executor(workers=1)
        blocks = Blocks(sample.n, low.rank, lambda rows: F[rows], self.intercept, one)
        return _Side(F, blocks, low.trace / float(self.weights.sum()) or 1.0)

    def _path(self, sides: list[_Side], flat: float) -> tuple[Vector, Vector]:
        """Return the criterion for each part and ridge, from the largest down; and these."""
        given = self.contest.how.regularizations
        ridges = np.sort(_RIDGES * (sides[0].unit / flat) if given is None else given)[::-1]
        fits: list[LogisticSolution] = []
        risks: list[list[float]] = []
        for ridge in ridges.tolist():
            fits = self._fits(sides, ridge, fits)
            folds = zip(sides, self.held, fits, strict=True)
            risks.append([self._risk(x.F[held], held, fit) for x, held, fit in folds])
            worse = len(risks) - 1 - int(np.argmin(np.mean(risks, axis=1)))
            if given is None and worse >= _WORSE:
                break
        return np.array(risks).T, ridges[: len(risks)]

    def _fits(
        self, sides: list[_Side], ridge: float, starts: list[LogisticSolution]
    ) -> list[LogisticSolution]:
        """Return the fits without each part, which start from those of another ridge."""

        def fit(fold: int) -> LogisticSolution:
            weights = self.weights.copy()
            weights[self.held[fold]] = 0.0
            return logistic(
                sides[fold].blocks,
                self.codes,
                ridge,
                classes=len(self.sizes),
                weights=weights,
                tol=_GAP,
                precision="float32",
                start=starts[fold] if starts else None,
            )

        return list(Executor().each(fit, range(len(self.held))))

    def _risk(self, F: Vector, held: Codes, fit: LogisticSolution) -> float:
        """Return the mean loss of rows held out."""
        p = _probabilities(F @ fit.value.T + fit.intercept)
        losses = np.asarray(self.loss(p, self.codes[held]))
        weights = self.weights[held] if losses.ndim else None
        return float(np.average(losses, weights=weights))


def _probabilities(f: Vector) -> Vector:
    """Return the probabilities of all classes, given scores of shape (q, 1) or (q, K)."""
    two = f.shape[1] == 1
    p: Vector = expit(np.hstack([-f, f])) if two else softmax(f, axis=1)
    return p


def _codes(sample: Sample) -> Codes:
    """Return the classes of the rows."""
    codes: Codes = to_numpy(sample.y.read(0, sample.n))[:, 0].astype(np.intp)
    return codes


def _thinned(sample: Sample, most: int, seed: int) -> Sample:
    """Return at most so many rows: half by the shares of the classes, and half all alike.

    Weights make up for it. Their common factor is such that the slopes of the losses vary
    as much as their curvature says, as they do without weights: so ridges mean the same.
    """
    rows = sample.choose(sample.n, seed)
    if len(rows) <= most:
        return sample
    codes = _codes(sample)[rows]
    there = np.bincount(codes)
    n, K = len(rows), len(there)
    rule = f"None, or of `rows` of at least {2 * K}, twice the number of classes"
    require(most >= 2 * K, _NAME, "selection", rule, Words(f"`rows` of {most}"))
    taken = np.minimum(there, most // (2 * K) + most * there // (2 * n))
    order = np.random.default_rng(seed).permutation(n)
    few = [order[codes[order] == k][:m] for k, m in enumerate(taken.tolist())]
    chosen = np.sort(np.concatenate(few))
    share, stands = there / n, there / taken
    slopes = 1 - 2 * share + share @ share  # squared, where nothing is known of the rows
    stands *= (there @ slopes) / (there * stands @ slopes)
    small = sample.take(rows[chosen])
    own = np.ones(small.n) if small.weights is None else small.weights
    return replace(small, weights=own * stands[codes[chosen]])


def _loss_of(criterion: object, classes: NDArray[Any]) -> Loss:
    """Return the loss that a criterion stands for, of probabilities and codes."""
    if callable(criterion):
        return lambda p, y: _checked(criterion(p, classes[y]), len(y))
    losses: dict[object, Loss] = {
        "log_score": _log_loss,
        "energy": _half_brier,
        "energy_score": _half_brier,
    }
    rule = f"of a criterion among {list(losses)}, or a function of probabilities and labels"
    require(criterion in losses, _NAME, "selection", rule, criterion)
    return losses[criterion]


def _log_loss(p: Vector, y: Codes) -> Vector:
    """Return the log losses, clipped as in Eq. `eq:logisticloss`."""
    losses: Vector = -np.log(np.maximum(p[np.arange(len(y)), y], _LEAST))
    return losses


def _half_brier(p: Vector, y: Codes) -> Vector:
    """Return the energy scores of labels, which are half the Brier scores."""
    scores: Vector = (1 + np.sum(p * p, axis=1)) / 2 - p[np.arange(len(y)), y]
    return scores


def _checked(losses: object, q: int) -> NDArray[Any]:
    found = np.asarray(losses)
    good = found.dtype.kind in "fiub" and found.shape in ((), (q,))
    rule = f"a function that returns a number, or one for each of {q} rows"
    require(good, _NAME, "criterion", rule, Words(f"{found.dtype} of shape {found.shape}"))
    return found
