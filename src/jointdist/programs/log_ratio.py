r"""Maximum likelihood of a log-linear ratio, in the paper's two bases.

The ratio of the joint distribution to the product of its marginals is modelled by its
logarithm, on :math:`K` cells of Y with shares :math:`p`:

.. math:: p(k \mid x) = p_k \exp(\Psi_Y(y_k)^\top W \Psi_X(x) + \beta_k - a(x)),

where :math:`a(x)` makes the mass one. The objective is the mean negative log-likelihood plus
:math:`\lambda |W|^2 / 2`: smooth, convex, and zero at :math:`W = 0, \beta = 0`. There its
gradient is :math:`-b` and its Hessian in :math:`W` is diagonal in the double-orthogonal basis,
with the elements :math:`a` of Eq. `optgenClowR`: the closed form :math:`b / a` of the paper is
its first Newton step. The descent multiplies gradients with nearly the inverse of the second
derivatives, which is diagonal in this basis; ten to thirty evaluations suffice.

The intercepts :math:`\beta` are free. At those that are best for a given :math:`W`, the mean of
:math:`p(k \mid x_i)` over rows is :math:`p_k`: both marginals are those of the sample.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from jointdist._array import (
    Array,
    Index,
    Matrix,
    Vector,
    array_namespace,
    is_numpy_array,
    like,
)
from jointdist._cached import Cached, cached
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.data.executor import one_blas_thread
from jointdist.programs._intercepts import Intercepts, TiltedRows, best_intercepts
from jointdist.programs._lbfgs import Inverse, lbfgs
from jointdist.programs._log_ratio_curvature import near_inverse
from jointdist.programs._log_ratio_sums import Evaluation, LikelihoodSums
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.solution import Certificate, Solution, Status

__all__ = ["LogRatioProblem", "LogRatioSolution", "maximum_likelihood"]

_MOST = 100  # evaluations at most: five times as many as any trial took at 1e-3
# Rows whose second derivatives by intercepts are taken, up to twice as many: so many, or this share
# of cells. A time budget: with 100 cells eight times as many saved no evaluation.
_CURVED, _OF_CELLS = 128, 4
_WHERE = "maximum_likelihood"
# The largest error of a share, relative to it, with which marginals count as exact.
_SOLVED = 1e-6


@dataclass(frozen=True, eq=False)
class LogRatioProblem(Cached):
    r"""Rows of X as functions, and the cells of their outcomes.

    Attributes
    ----------
    blocks : Blocks
        The functions :math:`\Psi_X` of the rows, in row blocks.
    cells : array of shape (n,)
        The cell of the outcome of each row; none may be empty.
    functions : array of shape (K, r)
        The functions :math:`\Psi_Y` at the cells.
    weights : array of shape (n,), optional
        The weights of the rows.
    squares : array of shape (m,), optional
        The mean squares of the functions of X, if these are uncorrelated: for the
        preconditioner; without, there is none.
    watch : callable, optional
        Called with the objective after each evaluation, as to show progress.
    """

    blocks: Blocks
    cells: Index
    functions: Matrix
    weights: Vector | None = None
    squares: Vector | None = None
    watch: Callable[[float], None] | None = None

    @cached
    def row_weights(self) -> Vector:
        """The weights of the rows, with sum one."""
        n = self.blocks.n
        if self.weights is None:
            return np.full(n, 1 / n)
        shares: Vector = self.weights / self.weights.sum()
        return shares

    @cached
    def shares(self) -> Vector:
        """The shares of the cells."""
        found = np.bincount(self.cells, self.row_weights, len(self.functions))
        return found.astype(np.float64)

    def evaluate(
        self, W: Matrix, beta: Vector, ridge: float, *, every: int = 0
    ) -> LikelihoodSums:
        """Return objective and gradient, in one pass over the rows.

        Parameters
        ----------
        W, beta : arrays of shapes (r, m) and (K,)
            The coefficients.
        ridge : float
            The ridge.
        every : int, default=0
            Of so many rows one is taken for the second derivatives by intercepts; with zero,
            no second derivatives are summed.
        """
        how = Evaluation(W, beta, self.functions, self.shares, every)
        parts = self.blocks.each(lambda rows, F: how.add(F, *self._of(rows, F), rows.start))
        found = how.finish(reduce(how.combine, parts, how.zero()), 1.0, ridge)
        if self.watch is not None:
            self.watch(found.value)
        return found

    def tilted(self, W: Matrix) -> list[TiltedRows]:
        """Return the coefficients of the functions of Y at all rows, where their features are.

        Parameters
        ----------
        W : array of shape (r, m)
            The coefficients.
        """

        def tilts(rows: slice, F: Array) -> TiltedRows:
            F = array_namespace(F).astype(F, array_namespace(F).float64, copy=False)
            return TiltedRows(F @ like(W.T, F), self._of(rows, F)[1])

        return list(self.blocks.each(tilts))

    def _of(self, rows: slice, F: Array) -> tuple[Array, Array]:
        """Return the cells and the weights of a block of rows, where its features are."""
        if is_numpy_array(F):
            return self.cells[rows], self.row_weights[rows]
        if rows.start not in self._moved:
            own = self.cells[rows], self.row_weights[rows]
            self._moved[rows.start] = like(own[0], F), like(own[1], F)
        return self._moved[rows.start]

    @cached
    def _moved(self) -> dict[int, tuple[Array, Array]]:
        """Cells and weights on an accelerator, by the first row of their block."""
        return {}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogRatioSolution(Solution):
    r"""The solution of maximum likelihood, with its intercepts.

    Attributes
    ----------
    value : array of shape (r, m)
        The coefficients :math:`W`.
    objective, status, certificate, multipliers, iterations
        As in :class:`Solution`. The iterations are evaluations; the certified gap is the
        largest share of :math:`J(0) - J^*` that may be missing; the feasibility is the largest
        error of the marginal of Y, relative to a share.
    intercept : array of shape (K,)
        The intercepts :math:`\beta`; their mean, weighted by the shares of cells, is zero.
    missing : float, default=nan
        The share of :math:`J(0) - J^*` that the last steps foretell to be missing: an
        estimate, where the certified gap is a bound. Infinite if steps foretell nothing.
    """

    intercept: Vector = field(default_factory=lambda: np.zeros(1))
    missing: float = np.nan

    def with_intercepts(self, found: Intercepts) -> "LogRatioSolution":
        """Return the solution with other intercepts; inexact where they are not solved for."""
        failed = found.error > _SOLVED
        return replace(
            self,
            intercept=found.values,
            certificate=replace(self.certificate, feasibility=found.error),
            status=Status.INEXACT if failed else self.status,
        )

    @property
    def sentence(self) -> str:
        """How maximum likelihood ended, with the remedy."""
        error = self.certificate.feasibility
        if error > _SOLVED:
            return (
                "The intercepts could not be solved for: the marginal of Y is off by up to "
                f"{error:.2g} times a share. Raise `regularization`."
            )
        if self.status is not Status.INEXACT:
            return str(self.status.value)
        share = (
            f"about {self.missing:.1%}" if np.isfinite(self.missing) else "an unknown share"
        )
        return (
            f"Maximum likelihood ended after {self.iterations} evaluations, before it had "
            f"converged: {share} of the gain over independence may be missing. "
            "A larger `regularization` converges sooner."
        )

    def __repr__(self) -> str:
        r, m = self.value.shape
        return (
            f"LogRatioSolution({self.status.name}, {r} × {m} coefficients, "
            f"objective={self.objective:.6g}, missing={self.missing:.1g}, "
            f"gap={self.certificate.gap:.1g}, evaluations={self.iterations})"
        )


def maximum_likelihood(
    problem: LogRatioProblem,
    regularization: float,
    *,
    tol: float = 1e-3,
    start: LogRatioSolution | None = None,
    max_evaluations: int = _MOST,
    certify: bool = True,
) -> LogRatioSolution:
    r"""Minimise the mean negative log-likelihood plus a ridge.

    An evaluation costs :math:`4 n r (m + K)` multiplications.

    Parameters
    ----------
    problem : LogRatioProblem
        Functions, cells and weights.
    regularization : float
        The ridge :math:`\lambda`, positive.
    tol : float, default=1e-3
        The decrease that may still be missing, as a share of the gain
        :math:`J(0) - J^*`, as the last steps foretell it.
    start : LogRatioSolution, optional
        The solution of a similar problem, such as that of the last :math:`\lambda` of a
        path.
    max_evaluations : int, default=100
        The most evaluations.
    certify : bool, default=True
        Whether the intercepts are solved for at the end, with a certificate of the gap. That
        costs up to ten evaluations; where candidates are compared it is not needed.

    Returns
    -------
    LogRatioSolution
        The coefficients. At the best intercepts the objective is strongly convex in
        :math:`W`, and the squared gradient over :math:`2 \lambda` bounds the gap for
        certain. For a tiny ridge that bound is far above the gap.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs import Blocks, LogRatioProblem, maximum_likelihood
    >>> F = np.array([[-1.0], [-1.0], [0.0], [1.0], [1.0]])
    >>> sides = np.array([[-1.0], [1.0]])
    >>> blocks = Blocks(5, 1, lambda rows: F[rows])
    >>> problem = LogRatioProblem(blocks, np.array([0, 0, 1, 0, 1]), sides)
    >>> found = maximum_likelihood(problem, 0.1, tol=1e-9)
    >>> found.value.round(3), found.status.name
    (array([[0.496]]), 'OPTIMAL')
    """
    _check(problem, regularization, tol, start, max_evaluations)
    ridge, shares = float(regularization), problem.shares
    r, m = problem.functions.shape[1], problem.blocks.m
    W = np.zeros((r, m)) if start is None else start.value
    beta = np.zeros(len(shares)) if start is None else start.intercept
    some = max(_CURVED, len(shares) // _OF_CELLS)
    every = max(problem.blocks.n // some, 1) if problem.squares is not None else 0
    count = 0

    def f(v: Vector) -> tuple[float, Vector, Inverse | None]:
        nonlocal count
        count += 1
        W, beta = v[: r * m].reshape(r, m), v[r * m :]
        bends = every if count & (count - 1) == 0 else 0  # at one, two, four, ...
        at = problem.evaluate(W, beta, ridge, every=bends)
        slope = np.concatenate([at.slope.ravel(), at.cells])
        if problem.squares is None:
            return at.value, slope, None
        sides = problem.functions, problem.squares
        return at.value, slope, near_inverse(at, shares, *sides, ridge)

    with one_blas_thread() as one, one:  # passes have a thread for each core
        first = np.concatenate([W.ravel(), beta])
        end = lbfgs(f, first, tol=tol, most=max_evaluations, zero=0.0)
        W, beta = end.at[: r * m].reshape(r, m), end.at[r * m :]
        status = Status.OPTIMAL if end.converged else Status.INEXACT
        missing = np.inf
        if np.isfinite(end.decrement):
            missing = end.decrement / max(end.decrement - end.value, np.finfo(float).tiny)
        if not certify:
            beta = beta - shares @ beta
            own = Certificate(gap=np.inf)
            return LogRatioSolution(
                W, end.value, status, own, {}, end.evaluations, beta, missing
            )
        best = best_intercepts(problem.tilted(W), problem.functions, shares, beta)
        at = problem.evaluate(W, best.values, ridge)
    solved = best.error <= _SOLVED  # else the gradient bounds nothing
    gap = float(np.sum(at.slope * at.slope)) / (2 * ridge) if solved else np.inf
    terms = float(np.abs(ridge * W).max(initial=0.0))
    steepest = float(np.abs(at.slope).max(initial=0.0))
    certificate = Certificate(
        stationarity=steepest / max(terms, steepest, np.finfo(float).tiny),
        feasibility=best.error,
        gap=gap / (gap - at.value) if 0 < gap < np.inf else gap,
    )
    evaluations = end.evaluations + 1
    found = LogRatioSolution(
        W, at.value, status, certificate, {}, evaluations, missing=missing
    )
    return found.with_intercepts(best)


def _check(
    problem: LogRatioProblem,
    regularization: float,
    tol: float,
    start: LogRatioSolution | None,
    most: int,
) -> None:
    """Raise unless the arguments obey their rules."""
    positive = is_number(regularization, least=0.0) and regularization > 0
    require(positive, _WHERE, "regularization", "a positive number", regularization)
    require(is_number(tol, least=0.0), _WHERE, "tol", "a number of at least zero", tol)
    whole = is_whole(most, least=1)
    require(whole, _WHERE, "max_evaluations", "a whole number of at least one", most)
    n, (K, r) = problem.blocks.n, problem.functions.shape
    cells = problem.cells
    rule = f"{n} whole numbers from 0 to {K - 1}, each at least once with weight"
    whole = len(cells) == n and n > 0 and cells.min() >= 0 and cells.max() < K
    require(whole, _WHERE, "cells", rule, Text("others"))
    require(bool((problem.shares > 0).all()), _WHERE, "cells", rule, Text("others"))
    shape = (r, problem.blocks.m)
    fits = start is None or (start.value.shape == shape and len(start.intercept) == K)
    got = Text("none" if start is None else f"shape {start.value.shape}")
    require(fits, _WHERE, "start", f"of shape {shape} with {K} intercepts", got)
