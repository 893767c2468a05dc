r"""A kernel matrix to be factored, the pivots chosen for it, and its low-rank factor.

:math:`K \approx L L^\top` (paper, section 4.1), where the factor :math:`L` is not stored
unless :attr:`LowRank.factor` is read: the pivots, the core :math:`C = L[pivots]` and the exact
trace error determine it.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from jointdist._array import Array, Index, Vector, array_namespace, device, like, to_numpy
from jointdist._cached import Cached, cached
from jointdist._rules import Text, is_number, is_whole, require, require_kind
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows, as_rows
from jointdist.errors import NotPositiveDefiniteError
from jointdist.kernels import Kernel
from jointdist.lowrank.features import FeatureMap, kernel_precision

__all__ = [
    "Goal",
    "Landmarks",
    "LowRank",
    "PivotSearch",
    "Pivoting",
    "Pivots",
    "checked_goal",
    "pivot_search",
]

Pivoting: TypeAlias = Literal["auto", "rp", "greedy", "random", "column"]

# The largest rank where users give none: a Gram matrix of 32 MiB, and about the rank beyond
# which the O(n m^2) time of a factorisation is rarely worth it.
_DEFAULT_MAX_RANK = 2048
# A residual is rounding if it is below 8 eps max(rank, 64) k(x, x): a bound on the error of a
# sum of `rank` squares, with a margin for small ranks.
_ROUNDING_FACTOR, _ROUNDING_RANK = 8, 64


@dataclass(frozen=True, slots=True)
class Goal:
    """When a factorisation stops: at a trace error, relative or absolute, or at a rank."""

    tol: float
    relative: bool  # whether `tol` is a share of the trace
    max_rank: int
    rank_given: bool  # whether `max_rank` is the user's choice

    def budget(self, trace: float) -> float:
        """Return the trace error that is allowed."""
        return self.tol * trace if self.relative else self.tol


@dataclass(frozen=True, slots=True, eq=False)
class PivotSearch:
    """The kernel matrix to factor, and all that the choice of its pivots depends on."""

    kernel: Kernel
    name: str  # of the kernel as an argument, for messages
    eps: float  # the machine precision of the kernel's values
    rows: Rows
    weights: Vector | None
    goal: Goal
    rng: np.random.Generator
    executor: Executor

    def rounding(self, rank: int) -> float:
        """Return the share of k(x, x) below which a residual is nothing but rounding."""
        return _ROUNDING_FACTOR * self.eps * max(rank, _ROUNDING_RANK)

    def require_psd(
        self, residual: Vector, diagonal: Vector, rank: int, start: int
    ) -> None:
        """Raise if the residual diagonal is not finite, or clearly negative.

        Both diagonals are those of a block of rows from ``start``, after ``rank`` pivots.
        """
        finite = np.isfinite(residual) & np.isfinite(diagonal)
        if not finite.all():
            row = self.rows.number(start + int(np.argmin(finite)))
            got = Text(f"a value that is not finite at row {row} from {self.kernel!r}")
            require(False, self.rows.where, self.name, "finite on the data", got)
        lowest = int(np.argmin(residual))
        if residual[lowest] < -(self.eps**0.5) * np.abs(diagonal).max():
            msg = (
                f"{self.rows.where}: `{self.name}` must be positive semidefinite. Got "
                f"{self.kernel!r}: after {rank} pivots {residual[lowest]:.3g} is left of its "
                f"diagonal at row {self.rows.number(start + lowest)}."
            )
            raise NotPositiveDefiniteError(msg)


def pivot_search(
    kernel: Kernel,
    name: str,
    rows: Rows,
    weights: Vector | None,
    goal: Goal,
    *,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> PivotSearch:
    """Return the search for the pivots of a kernel matrix, having checked the kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    name : str
        Its name as an argument, for messages.
    rows : Rows
        The rows whose kernel matrix is factored.
    weights : array of shape (n,), optional
        The weights of the rows.
    goal : Goal
        When to stop; see :func:`checked_goal`.
    rng : Generator
        Draws the pivots.
    executor : Executor, optional
        Runs the row blocks.
    """
    eps, workers = kernel_precision(kernel, rows, name), executor_for(rows, executor)
    return PivotSearch(kernel, name, eps, rows, weights, goal, rng, workers)


def checked_goal(
    rows: Rows,
    tol: float,
    max_rank: int | None,
    pivoting: Pivoting = "auto",
    *,
    relative: bool = True,
) -> Goal:
    """Return the goal of a factorisation, having checked its arguments.

    Parameters
    ----------
    rows : Rows
        The rows.
    tol, max_rank, pivoting, relative
        As in :func:`~jointdist.pivoted_cholesky`.
    """
    where = rows.where
    rule = "a number in [0, 1) when relative" if relative else "zero or positive, finite"
    number = is_number(tol, least=0, below=1 if relative else math.inf)
    require(number, where, "tol", rule, tol)
    whole = max_rank is None or is_whole(max_rank, least=1)
    require(whole, where, "max_rank", "an integer of at least 1, or None", max_rank)
    require_kind(where, "pivoting", pivoting, Pivoting)
    flag = isinstance(relative, bool | np.bool)
    require(flag, where, "relative", "True or False", relative)
    most = min(int(max_rank or _DEFAULT_MAX_RANK), rows.n)
    return Goal(float(tol), bool(relative), most, rank_given=max_rank is not None)


class Pivots(NamedTuple):
    """The pivots chosen, with the trace of the kernel matrix and of the remainder."""

    map: FeatureMap
    rows: Index
    trace: float
    error: float

    def shortened(self, goal: Goal, squares: Vector) -> "Pivots | None":
        """Return the fewest of these pivots that reach the goal, or None.

        Features are nested. So the trace error of each smaller rank is that of all pivots
        plus the sums of ``squares`` over the sample of the features that are dropped.
        """
        errors = self.error + np.concatenate([np.cumsum(squares[::-1])[::-1], [0.0]])
        within = errors <= goal.budget(self.trace)
        if not within.any():
            return None
        rank = int(np.argmax(within))
        shorter = self.map.prefix(rank), self.rows[:rank]
        return Pivots(*shorter, self.trace, float(errors[rank]))

    def factor(self, rows: Rows) -> "LowRank":
        """Return the low-rank factor of the kernel matrix of the given rows."""
        return LowRank(self.map, self.rows, self.trace, self.error, rows)


@dataclass(frozen=True, eq=False)
class Landmarks:
    r"""The pivots of a kernel matrix, with the features that they give any point.

    A small value: no row but the pivots is kept.

    Attributes
    ----------
    map : FeatureMap
        The features of any point.
    pivots : array of shape (m,)
        The numbers of the pivot rows, in the order of choice.
    trace : float
        The trace of the kernel matrix.
    error : float
        What is left, :math:`\operatorname{trace}(K - L L^\top)`, over all rows.
    """

    map: FeatureMap
    pivots: Index
    trace: float
    error: float

    @property
    def relative_error(self) -> float:
        """The error as a share of the trace of the kernel matrix."""
        return self.error / self.trace if self.trace > 0 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class LowRank(Cached, Landmarks):
    r"""A kernel matrix written as :math:`K \approx L L^\top`.

    Attributes
    ----------
    map : FeatureMap
        The features of any point; small, without the rows.
    pivots : array of shape (m,)
        The numbers of the pivot rows, in the order of choice.
    trace : float
        The trace of :math:`K`.
    error : float
        What is left, :math:`\operatorname{trace}(K - L L^\top)`, over all rows.
    rows : Rows
        The rows that were factored; not copied, so they must not change while
        :attr:`factor` may still be read.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> jd.pivoted_cholesky(jd.kernels.Delta(), np.array([[0.0], [1.0], [1.0]]))
    LowRank(rank 2 for 3 rows, relative_error=0, kernel=Delta(similarity=0.0))
    """

    rows: Rows

    def __repr__(self) -> str:
        return (
            f"LowRank(rank {self.rank} for {self.rows.n} rows, "
            f"relative_error={self.relative_error:.3g}, kernel={self.kernel!r})"
        )

    @property
    def kernel(self) -> Kernel:
        """The kernel that was factored."""
        return self.map.kernel

    @property
    def landmarks(self) -> Array:
        """The pivot rows, of shape ``(m, d)``."""
        return self.map.landmarks

    @property
    def core(self) -> Array:
        """The rows of the factor at the pivots, lower triangular, ``(m, m)``."""
        return self.map.core

    @property
    def rank(self) -> int:
        """The number of pivots :math:`m`."""
        return self.map.rank

    @property
    def small(self) -> Landmarks:
        """The same without the rows."""
        return Landmarks(self.map, self.pivots, self.trace, self.error)

    @cached
    def factor(self) -> Array:
        """The factor :math:`L`, of shape ``(n, m)``; computed when first read."""
        L = self._features(self.rows)
        for i, pivot in enumerate(self.pivots):
            L[int(pivot), :] = self.core[i, :]  # by definition, and free of rounding
        return L

    @property
    def biorthogonal(self) -> Array:
        r"""The bi-orthogonal basis :math:`B`, of shape ``(n, m)``.

        It is :math:`C^{-\top}` on the pivot rows and zero elsewhere (Eq. `Bprop3`), and
        satisfies :math:`B^\top L = I` (Eq. `Bprop2`) and :math:`K B = L` (Eq. `Bprop1`).
        """
        B = np.zeros((self.rows.n, self.rank))
        B[self.pivots] = to_numpy(self.map.inverse_core).T
        return like(B, self.core)

    def features(self, Z: object) -> Array:
        r"""Map points to features :math:`\phi(z) = C^{-1} k(P, z)`, as rows.

        On the training rows they are the rows of :attr:`factor`.

        Parameters
        ----------
        Z : array of shape (n_points, d)
            The points.

        Returns
        -------
        Array of shape (n_points, m)
            The features.
        """
        rows = as_rows(Z, where="LowRank.features", name="Z")
        rows.require_like(self.rows)
        return self._features(rows)

    def _features(self, rows: Rows) -> Array:
        xp = array_namespace(self.core)
        shape = (rows.n, self.rank)
        out = xp.empty(shape, dtype=self.core.dtype, device=device(self.core))

        def block(start: int, x: Array) -> None:
            out[start : start + x.shape[0], :] = self.map.features(x)

        for _ in executor_for(rows).map(block, rows):
            pass
        return out
