"""What is asked of a factorisation: its arguments, checked and gathered."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from jointdist._array import array_namespace, is_array
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.errors import Text, is_number, is_whole, require
from jointdist.kernels import Kernel

__all__ = [
    "Goal",
    "Pivoting",
    "Search",
    "checked_goal",
    "kernel_rounding",
]

Pivoting: TypeAlias = Literal["auto", "rp", "greedy", "random", "column"]

_MOST = 2048  # pivots, when no `max_rank` is given


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop: at a trace error, relative to the trace or not, or at a rank."""

    tol: float
    relative: bool
    max_rank: int
    rank_asked: bool  # whether `max_rank` was the user's choice

    def budget(self, trace: float) -> float:
        """Return the trace error that is allowed."""
        return self.tol * trace if self.relative else self.tol


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The kernel matrix to factor, and all that the choice of its pivots depends on."""

    kernel: Kernel
    name: str  # of the kernel as an argument, for messages
    eps: float  # the rounding of the kernel's own arithmetic
    rows: Rows
    weights: NDArray[np.float64] | None
    goal: Goal
    rng: np.random.Generator
    executor: Executor

    def rounding(self, rank: int) -> float:
        """Return the share of k(x, x) below which a residual is nothing but rounding."""
        return 8 * self.eps * max(rank, 64)


def kernel_rounding(kernel: object, rows: Rows, name: str) -> float:
    """Return the rounding of a kernel's arithmetic, having checked that it is a kernel."""
    rule = "a kernel: an object with `__call__(X, Z)` and `diagonal(X)`"
    if not isinstance(kernel, Kernel) or isinstance(kernel, type):
        require(False, rows.where, name, rule, kernel)
        return math.nan
    X = rows.read(0, min(rows.n, 3))
    n = X.shape[0]
    matrix, diagonal = kernel(X, X[:1, :]), kernel.diagonal(X)
    for got, shape, what in ((matrix, (n, 1), "matrix"), (diagonal, (n,), "diagonal")):
        rule = f"a kernel whose {what} is an array of shape {shape} for {n} rows"
        seen = f"shape {tuple(got.shape)}" if is_array(got) else f"{type(got)}"
        good = is_array(got) and tuple(got.shape) == shape
        require(good, rows.where, name, rule, Text(f"{seen} from {kernel!r}"))
    ends = float(matrix[0, 0]), float(diagonal[0])
    rule = "a kernel whose `diagonal` is the diagonal of its matrix"
    seen = f"{ends[1]:.6g} against {ends[0]:.6g} from {kernel!r}"
    same = math.isclose(*ends, rel_tol=1e-4, abs_tol=1e-12) or math.isnan(sum(ends))
    require(same, rows.where, name, rule, Text(seen))
    xp = array_namespace(matrix)
    dtype = matrix.dtype if xp.isdtype(matrix.dtype, "real floating") else xp.float64
    return float(xp.finfo(dtype).eps)


def checked_goal(
    where: str,
    rows: Rows,
    tol: float,
    max_rank: int | None,
    pivoting: str,
    *,
    relative: bool,
) -> Goal:
    """Return the goal of a factorisation, its arguments checked."""
    rule = "a number in [0, 1) when relative" if relative else "zero or positive, finite"
    number = is_number(tol, least=0, below=1 if relative else math.inf)
    require(number, where, "tol", rule, tol)
    whole = max_rank is None or is_whole(max_rank, least=1)
    require(whole, where, "max_rank", "an integer of at least 1, or None", max_rank)
    rules = get_args(Pivoting)
    require(pivoting in rules, where, "pivoting", f"one of {rules}", pivoting)
    flag = isinstance(relative, bool | np.bool)
    require(flag, where, "relative", "True or False", relative)
    most = min(int(max_rank or _MOST), rows.n)
    return Goal(float(tol), bool(relative), most, rank_asked=max_rank is not None)
