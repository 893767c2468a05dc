r"""Conditional mean embeddings with structural constraints (paper, appendix).

The objective of Eq. `eq:lowrankprog`, divided by :math:`n`, is

.. math:: \tilde R(F) = \sum_{ij} (c_{X,j} + \lambda) F_{ij}^2 - 2 \langle M, F \rangle.

The distribution at :math:`x` has the weights :math:`T F \Psi_X(x)` on the pivots of Y, where
:math:`T = S^{-\top}` and :math:`S = \Psi_Y(P)` are the basis functions at the pivots.
Its mass is :math:`t^\top F \Psi_X(x)` with :math:`S t = 1`.

What holds on average over the sample sees :math:`F` only through :math:`g = F b`, with
the mean :math:`b` of :math:`\Psi_X`. The best :math:`F` for a given :math:`g` has a closed
form, and the weights :math:`u = T g` are left: the nearest point of a cone, or of a
simplex, to a point of the kernel's space, a program of :math:`m_Y` variables.
"""

from typing import get_args

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.data.executor import one_blas_thread
from jointdist.data.table import as_rows
from jointdist.programs._embedding_dual import Dual, finished, infeasible, unbound
from jointdist.programs._embedding_problem import Problem, Scope
from jointdist.programs._embedding_rows import on_sample
from jointdist.programs.nnls import nearest_in_hull, nonnegative
from jointdist.programs.objective import Objective
from jointdist.programs.solution import Solution

__all__ = ["Scope", "embedding"]


def embedding(
    objective: Objective,
    at_pivots: Matrix,
    mean: Vector,
    *,
    normalization: Scope = "average",
    positivity: Scope = "average",
    features: Matrix | None = None,
    tol: float = 1e-4,
    max_iter: int = 2000,
) -> Solution:
    r"""Minimise under a normalisation and a positivity, each on average or at every row.

    Parameters
    ----------
    objective : Objective
        With :math:`M = \frac1n \Psi_Y^\top \Psi_X` as its linear term, ``c_y`` of ones,
        and no normalisation of its own. The basis of X must not be centred.
    at_pivots : array of shape (m_Y, m_Y)
        The basis functions :math:`S = \Psi_Y(P)` at the pivots of Y, one row for each:
        the core times the rotation.
    mean : array of shape (m_X,)
        The mean :math:`b` of the basis functions of X over the sample.
    normalization : {"none", "average", "sample"}, default="average"
        Where the mass of the distributions is one: nowhere, on average over the sample
        (Eq. `normCME`), or at every row (Eq. `normCMEfull`).
    positivity : {"none", "average", "sample"}, default="average"
        Where no weight is negative: nowhere, on average over the sample
        (Eq. `posCMEave`), or at every row (Eq. `posCME`).
    features : array of shape (n, m_X), optional
        The basis functions of X at the rows of the sample. Only ``"sample"`` needs them,
        and it is about these rows. There should be more of them than functions: masses
        of one are had by the smallest function that is one there and on average.
    tol : float, default=1e-4
        The certified gap to the optimum, relative to the objective. Without positivity
        at every row the optimum is exact up to rounding.
    max_iter : int, default=2000
        The most steps for positivity at every row.

    Returns
    -------
    Solution
        ``Status.INFEASIBLE``, with coefficients that are not numbers, if no function in
        the basis of X is one (up to 1e-6) where a mass has to be, or positive at every
        row where weights have to be; ``feasibility`` is then the distance to feasibility.

        Else the constraints hold, whatever the status. The multipliers are
        ``"normalisation"``, a number or, for ``"sample"``, an array of shape (m_X,); and
        ``"positivity"``, of shape (m_Y,) or, for ``"sample"``, (m_Y, k) at ``"rows"``, the
        numbers of k rows that imply the others.

    Notes
    -----
    Constraints on average cost :math:`O(m_Y^2 (m_Y + m_X))`, and can always be met unless
    the mean is zero. A normalisation at every row is a least-squares problem, :math:`O(n
    m_X^2)`. Positivity at every row takes hundreds of steps of :math:`O(k m_Y m_X)` on some
    thousand rows, and a few sweeps of :math:`O(n m_Y m_X)` over all.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs import Objective, embedding
    >>> objective = Objective(np.array([[0.3], [-0.1]]), np.ones(2), np.ones(1), 0.5)
    >>> embedding(objective, np.eye(2), np.ones(1)).value.round(9)
    array([[0.63333333],
           [0.36666667]])
    >>> objective = Objective(np.array([[0.9], [-0.9]]), np.ones(2), np.ones(1), 0.5)
    >>> embedding(objective, np.eye(2), np.ones(1)).value.round(9)
    array([[1.],
           [0.]])
    """
    where = "embedding"
    S, b = _checked(objective, at_pivots, mean)
    kept = objective.inverse[0] > 0
    for name, value in (("normalization", normalization), ("positivity", positivity)):
        known = value in get_args(Scope)
        require(known, where, name, f"one of {get_args(Scope)}", value)
    require(is_number(tol, least=0) and tol > 0, where, "tol", "positive", tol)
    whole = is_whole(max_iter, least=1)
    require(whole, where, "max_iter", "an integer of at least 1", max_iter)
    rows = np.empty((0, len(b)))
    if "sample" in {normalization, positivity}:
        rows = _rows(features, len(b)) * kept
    problem = Problem(objective, S, b * kept, rows, normalization, positivity)
    with one_blas_thread() as one, one:  # the matrices are small
        if problem.missing > 0:
            return infeasible(problem, problem.missing)
        if problem.lowest(problem.first) >= 0:
            return finished(problem, problem.first, unbound(problem), tol)
        if positivity == "average":
            return _on_average(problem, tol)
        return on_sample(problem, tol, max_iter)


def _on_average(problem: Problem, tol: float) -> Solution:
    r"""Find the weights :math:`u = T F b`, and the coefficients that belong to them.

    They cost :math:`|S^\top u - g|^2 / \beta` more than the optimum without positivity,
    which has the mean g. The gap is by convexity: the optimal weights sum to the total
    mass, or else to at most :math:`|t| |g|`, since the nearest point of a cone is not
    longer.
    """
    S, b, t = problem.S, problem.b, problem.t
    g = problem.first @ b
    if problem.normalization == "none":
        most = float(np.linalg.norm(t) * np.linalg.norm(g))
        u = nonnegative(S @ S.T, -(S @ g))
        slope = S @ (S.T @ u - g) / problem.beta
    else:
        most = float(t @ g)
        u = most * nearest_in_hull(most * S - g)
        slope = S @ (S.T @ u - g) / problem.beta
        slope -= slope @ u / most
    z = np.where(u > 0, 0.0, np.maximum(slope, 0.0))
    gap = 2 * float(slope @ u + most * max(-slope.min(), 0.0))
    dual = Dual({"positivity": z}, np.multiply.outer(z, b), gap=gap)
    return finished(problem, problem.through(S.T @ u), dual, tol, 1)


def _checked(
    objective: Objective, at_pivots: object, mean: object
) -> tuple[Matrix, Vector]:
    """Return the arrays, if they and the objective fit each other."""
    where = "embedding"
    m_y, m_x = objective.b.shape
    ours = min(m_y, m_x) > 0 and (objective.c_y == 1).all() and objective.mean_y is None
    rule = "one of coefficients, with `c_y` of ones and without a normalisation"
    require(ours, where, "objective", rule, Text("another"))
    finite = bool(np.isfinite(objective.b).all() and np.isfinite(objective.a).all())
    got = Text("numbers that are not finite")
    require(finite, where, "objective", "finite", got)
    arrays = []
    for name, given, shape in (
        ("at_pivots", at_pivots, (m_y, m_y)),
        ("mean", mean, (m_x,)),
    ):
        array = np.asarray(given, dtype=np.float64)
        fits, got_shape = array.shape == shape, Text(f"shape {array.shape}")
        require(fits, where, name, f"of shape {shape}", got_shape)
        require(np.isfinite(array).all(), where, name, "finite", got)
        arrays.append(array)
    S, b = arrays
    regular = np.linalg.slogdet(S)[0] != 0
    require(regular, where, "at_pivots", "invertible", Text("a singular matrix"))
    return S, b


def _rows(features: object, m_x: int) -> Matrix:
    """Return the basis functions of X at the rows."""
    given = features is not None
    rule = "the basis functions of X at all rows, if constraints hold there"
    require(given, "embedding", "features", rule, features)
    table = as_rows(features, where="embedding", name="features")
    table.require_width(m_x)
    rows: Matrix = table.read(0, table.n)
    return rows
