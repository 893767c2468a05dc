r"""The pivoted Cholesky decomposition of a kernel matrix (paper, section 4.1)."""

from jointdist._rules import Seed, generator
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows, as_weights
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import LowRank, Pivoting, checked_goal, pivot_search
from jointdist.lowrank.randomized import choose_pivots, warn_if_short

__all__ = ["pivoted_cholesky"]


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
        Runs the row blocks.

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
    weights = as_weights(sample_weight, rows)
    goal = checked_goal(rows, tol, max_rank, pivoting, relative=relative)
    rng = generator(rows.where, random_state)
    search = pivot_search(kernel, "kernel", rows, weights, goal, rng=rng, executor=executor)
    found = choose_pivots(search, pivoting)
    warn_if_short(rows.where, "X", goal, found)
    return found.factor(rows)
