r"""Low-rank factors of kernel matrices (paper, section 4.1).

:math:`K \approx L L^\top`, where :math:`L` is not stored unless it is asked for: the
pivots, the core :math:`C = L[pivots]` and the exact trace error say all.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, array_namespace, device, like, to_numpy
from jointdist._random import Seed, generator
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows, as_rows, as_weights
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Kernel
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.greedy import Pivots, column_norms, greedy, one_by_one
from jointdist.lowrank.problem import Goal, Pivoting, Search, checked_goal, kernel_rounding
from jointdist.lowrank.randomized import in_rounds, is_large, on_subsample

__all__ = [
    "LowRank",
    "choose_pivots",
    "factored",
    "pivoted_cholesky",
    "warn_if_short",
]


@dataclass(frozen=True, eq=False, repr=False)
class LowRank:
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
        :attr:`factor` may still be asked for.
    kernel, landmarks, core, rank, relative_error, factor, biorthogonal
        What follows from these; see each.
    """

    map: FeatureMap
    pivots: NDArray[np.intp]
    trace: float
    error: float
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
    def relative_error(self) -> float:
        """The error as a share of the trace of the kernel matrix."""
        return self.error / self.trace if self.trace > 0 else 0.0

    @cached_property
    def factor(self) -> Array:
        """The factor :math:`L`, of shape ``(n, m)``; computed when first asked for."""
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


def pivoted_cholesky(
    kernel: Kernel,
    X: object,
    *,
    tol: float = 1e-3,
    max_rank: int | None = None,
    pivoting: Pivoting = "auto",
    relative: bool = True,
    sample_weight: object = None,
    random_state: Seed = None,
    executor: Executor | None = None,
) -> LowRank:
    r"""Factor a kernel matrix, without ever forming it (Algorithm `algo:bioChol`).

    Pivot rows are chosen until the trace of the remainder is small (Eq. `Bprop0`),

    .. math:: \operatorname{trace}(K - L L^\top) \le \varepsilon
        \operatorname{trace}(K),

    and the result satisfies Theorem `thmChol` whatever the rule of choice.

    Parameters
    ----------
    kernel : Kernel
        A positive semidefinite kernel.
    X : array, memory map or DataFrame of shape (n, d)
        The data points; read in row blocks.
    tol : float, default=1e-3
        The tolerance :math:`\varepsilon` of the trace error. Zero means to go on until
        only rounding is left.
    max_rank : int, optional
        Stop at this rank even if ``tol`` has not been reached, with a warning. None
        stands for 2,048, beyond which factors are slow and rarely worth it.
    pivoting : {"auto", "rp", "greedy", "random", "column"}, default="auto"
        How pivots are chosen.

        * ``"auto"``: as ``"rp"``; for large n on a random subsample first, then
          verified on every row, with further pivots until the tolerance holds.
        * ``"rp"``: randomly pivoted, in proportion to the residual diagonal. Often needs
          fewer pivots than ``"greedy"`` for the same error, far fewer where data have
          tails.
        * ``"greedy"``: the largest residual, as in the paper. Deterministic; stores the
          n × m factor, and reads it once for many pivots.
        * ``"random"``: all rows alike, the Nyström approximation.
        * ``"column"``: the largest column norm of the Schur complement. Costs
          :math:`O(n^2 m)` a pivot, for small n.
    relative : bool, default=True
        Whether ``tol`` is a share of the trace of :math:`K`, or the error itself.
    sample_weight : array of shape (n,), optional
        Weights of the rows in the trace: a row of weight two counts as two rows.
    random_state : int, Generator, RandomState, optional
        The seed of ``"auto"``, ``"rp"`` and ``"random"``.
    executor : Executor, optional
        How row blocks are worked on.

    Returns
    -------
    LowRank
        Pivots, core and the exact trace error over all rows.

    Warns
    -----
    ToleranceWarning
        If ``max_rank`` was reached before ``tol``.

    References
    ----------
    .. [1] Harbrecht, Peters, Schneider (2012). "On the low-rank approximation by the
       pivoted Cholesky decomposition", Applied Numerical Mathematics 62.
    .. [2] Chen, Epperly, Tropp, Webber (2025). "Randomly pivoted Cholesky",
       Communications on Pure and Applied Mathematics 78.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import kernels, pivoted_cholesky
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> low = pivoted_cholesky(kernels.Gaussian(2.0), X, tol=1e-2, random_state=0)
    >>> low.relative_error <= 1e-2
    True
    >>> low.factor.shape == (1000, low.rank)
    True
    """
    rows = as_rows(X, where="pivoted_cholesky", name="X")
    where = rows.where  # who gave the rows
    weights = as_weights(sample_weight, rows)
    eps = kernel_rounding(kernel, rows, "kernel")
    goal = checked_goal(where, rows, tol, max_rank, pivoting, relative=relative)
    rng, executor = generator(where, random_state), executor_for(rows, executor)
    search = Search(kernel, "kernel", eps, rows, weights, goal, rng, executor)
    low = factored(search, pivoting)
    warn_if_short(where, "X", goal, low)
    return low


def factored(search: Search, pivoting: Pivoting) -> LowRank:
    """Return the factor, and no warning if it falls short of its goal."""
    found = choose_pivots(search, pivoting)
    return LowRank(found.map, found.rows, found.trace, found.error, search.rows)


def choose_pivots(search: Search, pivoting: Pivoting) -> Pivots:
    """Choose pivots by the rule ``pivoting``; the error returned is that of all rows."""
    if pivoting == "greedy":
        return greedy(search)
    if pivoting == "column":
        return one_by_one(search, column_norms)
    proposed = pivoting == "auto" and is_large(search.rows)
    start = on_subsample(search) if proposed else None
    return in_rounds(search, uniform=pivoting == "random", start=start)


def warn_if_short(where: str, name: str, goal: Goal, found: Pivots | LowRank) -> None:
    """Warn if the tolerance was not reached.

    A tolerance of zero asks for ``max_rank`` pivots, or for all that rounding allows.
    """
    full = found.map.rank >= goal.max_rank
    as_asked = goal.tol == 0 and (goal.rank_asked or not full)
    if found.error > goal.budget(found.trace) and not as_asked:
        limit = f"`max_rank` = {goal.max_rank}" if full else "the limit of rounding"
        remedy = (
            "Raise `max_rank` or `tol`, or take a wider kernel" if full else "Raise `tol`"
        )
        msg = (
            f"{where}: {limit} was reached on `{name}` before `tol` = {goal.tol:g}. The "
            f"trace error reached is {found.error:.3g}, a share of "
            f"{found.error / found.trace:.3g}. {remedy}."
        )
        warnings.warn(msg, ToleranceWarning, stacklevel=3)
