r"""Positivity at every pair of the sample, Eq. `posiCtilde`, exactly.

Of the :math:`n^2` constraints only a few hundred hold with equality. They are found by
sweeps over the grid: pairs where the density is negative join a working set, whose dual

.. math:: \min_{w \ge 0} \tfrac12 w^\top G w + c^\top w, \qquad
    G_{kl} = \langle \phi_k, \phi_l / a \rangle, \qquad
    c_k = 1 + \langle \phi_k, \tilde H_0 \rangle,

is a small quadratic program. Here :math:`\phi_k` is the product of basis functions at
the k-th pair, :math:`\tilde H_0` the optimum without positivity, and
:math:`a \tilde H = b - \mu e + \sum_k w_k \phi_k`. Every :math:`w \ge 0` gives a lower
bound of the optimum, :math:`- \sum a \tilde H^2 - 2 \sum w`; every :math:`\tilde H` gives
a feasible point, by a shrink that the lowest value on the grid determines. The two
certify the gap, however the working set was chosen.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Matrix
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.data.executor import one_blas_thread
from jointdist.data.table import as_rows
from jointdist.programs.grid_sweep import Grid, Lowest, Pairs
from jointdist.programs.objective import Objective
from jointdist.programs.solution import Certificate, Solution, Status
from jointdist.programs.working_set import WorkingSet

__all__ = ["grid_positive"]

# Rows of either side of a random sub-grid that is solved before a larger grid is swept, as in
# solver trials with 20,000 rows.
SUBGRID = 4096
# Pairs that join the working set after a sweep, from the same trials.
ADDED = 300
# Pairs of a grid whose values are all computed at once: 2 MiB.
_WHOLE = 1 << 18

_EPS = float(np.finfo(np.float64).eps)


def grid_positive(
    objective: Objective,
    F_y: Matrix,
    F_x: Matrix,
    *,
    tol: float = 1e-5,
    max_iter: int = 100,
    random_state: int = 0,
) -> Solution:
    r"""Minimise with :math:`1 + \tilde h(x, y) \ge 0` at all pairs of two sets of points.

    Eq. `posiCtilde`, if the points are the rows of the sample.

    Parameters
    ----------
    objective : Objective
        The objective, with or without normalisation.
    F_y, F_x : arrays of shape (n_Y, m_Y) and (n_X, m_X)
        The basis functions :math:`\Psi` at the points. Every row of one is paired with
        every row of the other.
    tol : float, default=1e-5
        The certified gap to the optimum, relative to the objective.
    max_iter : int, default=100
        The largest number of sweeps over the whole grid.
    random_state : int, default=0
        The seed of the sub-grid that is worked on first if there are many points. It
        does not matter for the optimum.

    Returns
    -------
    Solution
        Feasible on the whole grid whatever its status. The multipliers are
        ``"normalisation"`` if there is one, and ``"positivity"`` at ``"pairs"``, an
        array of shape (k, 2) with a row of ``F_y`` and one of ``F_x``. ``iterations``
        is the number of sweeps over the whole grid.

    Notes
    -----
    A sweep costs :math:`O(n_Y n_X m)` time and holds a few tiles of the grid in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs import Objective, grid_positive
    >>> F = np.array([[1.0], [-1.0]])
    >>> objective = Objective(np.array([[2.0]]), np.ones(1), np.ones(1), 0.0)
    >>> grid_positive(objective, F, F).value.round(9)
    array([[1.]])
    """
    grid = _checked(objective, F_y, F_x)
    require(is_number(tol, least=0) and tol > 0, "grid_positive", "tol", "positive", tol)
    whole = is_whole(max_iter, least=1)
    require(whole, "grid_positive", "max_iter", "an integer of at least 1", max_iter)
    whole = is_whole(random_state, least=0)
    require(
        whole, "grid_positive", "random_state", "zero or a positive integer", random_state
    )
    with (
        one_blas_thread() as one,
        one,
    ):  # many threads on a small matrix wait for each other
        work = WorkingSet.empty(objective, grid)
        return _search(work, tol, max_iter, np.random.default_rng(random_state))


def _search(
    work: WorkingSet, tol: float, max_iter: int, rng: np.random.Generator
) -> Solution:
    """Sweep and solve in turn, until the gap is within the tolerance.

    Sweeps are in single precision until they find nothing more. What is returned, and
    its gap, are from a sweep in double precision.
    """
    grid, part = work.grid, _part(work.grid, rng)
    best = promising = _Point(work, 0.0, 0.0)
    lower, gap, exact = -np.inf, 1.0, False
    for sweeps in range(1, max_iter + 1):
        if part is not None:
            work = _solved_on(part, work, max(gap / 10, tol / 4))
        lower = max(lower, work.lower)
        exact = exact or sweeps == max_iter
        seen = grid.lowest(work.coefficients, exact=exact)
        point = _shrunk(work, seen)
        gap = _relative(point.value - lower, point.value)
        promising = min(promising, point, key=_value)
        if exact:
            best = min(point, best, key=_value)
        more = _violated(work, seen)
        done = gap <= tol or not len(more)
        if sweeps == max_iter or (exact and done):
            break
        exact = exact or done
        work = _grown(work, more)
        part = None if part is None else _joined(grid, part, more)
    if gap > tol and promising.value < best.value:  # known in single precision only
        seen = grid.lowest(promising.work.coefficients)
        best = min(_shrunk(promising.work, seen), best, key=_value)
    return _solution(best, lower, tol, sweeps)


def _solved_on(part: Grid, work: WorkingSet, tol: float, max_iter: int = 60) -> WorkingSet:
    """Sweep and solve on a part of the grid, until the gap there is small."""
    for _ in range(max_iter):
        seen = part.lowest(work.coefficients, exact=False)
        value = _shrunk(work, seen).value
        more = _violated(work, seen)
        if _relative(value - work.lower, value) <= tol or not len(more):
            break
        work = _grown(work, more)
    return work


def _violated(work: WorkingSet, seen: Lowest) -> Pairs:
    """Return the pairs to add: the lowest of each column, and the lowest of these.

    Where there are few columns, several of each: what a whole look at the grid finds.
    """
    if not np.isfinite(seen.value):
        return seen.pairs[:0]
    grid, n = work.grid, len(work.grid.F_x)
    pairs, values, each = seen.pairs, seen.values, 1
    if len(grid.F_y) * n <= _WHOLE:
        whole = grid.F_y @ work.coefficients @ grid.F_x.T
        pairs = np.argwhere(whole < -1)
        values, each = whole[whole < -1], -(-ADDED // n)
    new = ~np.isin(pairs @ [n, 1], work.pairs @ [n, 1])
    order = np.lexsort((values[new], pairs[new][:, 1]))
    pairs, values = pairs[new][order], values[new][order]
    first = np.searchsorted(pairs[:, 1], pairs[:, 1])
    chosen = np.flatnonzero(np.arange(len(pairs)) - first < each)
    pairs = pairs[chosen[np.argsort(values[chosen], kind="stable")][:ADDED]]
    return pairs[grid.at(work.coefficients, pairs) < -1]  # not only in single precision


def _grown(work: WorkingSet, more: Pairs) -> WorkingSet:
    return work.extended(more).solved().without_idle() if len(more) else work


def _part(grid: Grid, rng: np.random.Generator) -> Grid | None:
    """Return a random part of a large grid; None if the grid is small."""
    sizes = len(grid.F_y), len(grid.F_x)
    if max(sizes) <= 1.25 * SUBGRID:
        return None
    y, x = (np.sort(rng.permutation(n)[:SUBGRID]) for n in sizes)
    return grid.subset(y, x)


def _joined(grid: Grid, part: Grid, pairs: Pairs) -> Grid:
    """Return a part of the grid with the rows of some pairs added."""
    if part.numbers is None:
        return part
    y, x = (np.union1d(rows, i) for rows, i in zip(part.numbers, pairs.T, strict=True))
    return grid.subset(y, x)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """The coefficients of a working set, shrunk until they are feasible."""

    work: WorkingSet
    scale: float
    lowest: float

    @property
    def coefficients(self) -> Matrix:
        return self.scale * self.work.coefficients

    @property
    def value(self) -> float:
        return self.work.objective(self.coefficients)


def _value(point: _Point) -> float:
    return point.value


def _shrunk(work: WorkingSet, seen: Lowest) -> _Point:
    """Shrink as far as the lowest value on the grid asks for, and for its rounding."""
    if not np.isfinite(seen.value):
        return _Point(work, 0.0, 0.0)
    floor = max(1 - work.rounding, 0.0)
    scale = floor / -seen.value if seen.value < -floor else 1.0
    return _Point(work, scale, scale * seen.value)


def _relative(gap: float, value: float) -> float:
    if gap <= 0:
        return 0.0
    return gap / abs(value) if value else np.inf


def _solution(point: _Point, lower: float, tol: float, sweeps: int) -> Solution:
    work, H, objective = point.work, point.coefficients, point.work.objective
    gap = _relative(point.value - lower, point.value)
    used = work.weights > 0
    pairs, w = work.pairs[used], work.weights[used]
    residual = objective.a * H - objective.b - work.forces
    off = 0.0
    multipliers: dict[str, object] = {"pairs": pairs, "positivity": w}
    if objective.e is not None:
        multipliers["normalisation"] = work.mu
        residual = residual + work.mu * objective.e
        off = abs(float(np.sum(objective.e * H))) / max(float(np.abs(H).sum()), 1.0)
    size = max(_largest(objective.b), _largest(work.forces), np.finfo(float).tiny)
    slack = float(w @ np.abs(1 + work.grid.at(H, pairs)))
    certificate = Certificate(
        stationarity=_largest(residual[objective.inverse > 0]) / size,
        feasibility=max(off, -(1 + point.lowest), 0.0),
        complementarity=_relative(slack, point.value),
        gap=gap,
    )
    status = Status.OPTIMAL if gap <= tol else Status.INEXACT
    return Solution(H, point.value, status, certificate, multipliers, sweeps)


def _largest(values: Matrix) -> float:
    return float(np.abs(values).max(initial=0.0))


def _checked(objective: Objective, F_y: object, F_x: object) -> Grid:
    """Return the grid, if its tables and the objective fit each other."""
    where = "grid_positive"
    finite = bool(np.isfinite(objective.b).all() and np.isfinite(objective.a).all())
    got = Text("numbers that are not finite")
    require(finite, where, "objective", "finite", got)
    tables = as_rows(F_y, where=where, name="F_y"), as_rows(F_x, where=where, name="F_x")
    for table, m in zip(tables, objective.b.shape, strict=True):
        table.require_width(m)
    y, x = (np.ascontiguousarray(table.read(0, table.n)) for table in tables)
    return Grid(y, x)
