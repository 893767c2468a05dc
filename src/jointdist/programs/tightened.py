r"""The single-inequality tightening of positivity (paper, section 4.3.2).

One inequality in place of one for each pair of the sample. Its dual has two dimensions.
"""

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Matrix
from jointdist._rules import Text, is_whole, require
from jointdist.programs._tightened_problem import TightenedProblem
from jointdist.programs.objective import Objective, closed_form
from jointdist.programs.solution import Solution

__all__ = ["tightened"]


def tightened(
    objective: Objective,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    max_iter: int = 200,
) -> Solution:
    r"""Minimise under the single inequality of Eq. `eq:tightening`.

    .. math:: 1 + \sum_{ij} \min(\underline C_{ij} H_{ij}, \overline C_{ij} H_{ij}) \ge 0

    with the normalisation, if the objective has one. The density is positive at every
    pair of the sample if the bounds are those of
    :func:`~jointdist.programs.product_bounds` over its rows (Lemma `lemposi`).
    Coefficients that the objective leaves out stay zero. A step costs
    :math:`O(m_Y m_X)` at most.

    Parameters
    ----------
    objective : Objective
        The objective, with or without normalisation.
    lower, upper : arrays of shape (m_Y, m_X), or numbers
        Bounds :math:`\underline C \le \overline C` of the products of basis functions.
    max_iter : int, default=200
        The most steps of one search for the multipliers.

    Returns
    -------
    Solution
        With the multipliers ``"positivity"`` and, if there is one, ``"normalisation"``.
        The constraints hold in any case.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs import Objective, tightened
    >>> objective = Objective(np.array([[3.0, 0.5]]), np.ones(1), np.ones(2), 0.0)
    >>> solution = tightened(objective, -1.0, 1.0)
    >>> solution.value
    array([[1., 0.]])
    >>> solution.multipliers["positivity"]
    2.0
    """
    bounds = _checked(objective, lower, upper)
    whole = is_whole(max_iter, least=1)
    require(whole, "tightened", "max_iter", "a whole number of at least one", max_iter)
    problem = TightenedProblem(objective, *bounds)
    mu = objective.multiplier(objective.b * objective.inverse)
    slack, score = problem.first_look(mu)
    if slack >= 0:
        return problem.unbound(closed_form(objective))
    point, kept, h = problem.solve(mu, score, max_iter)
    return problem.solution(point, kept, h)


def _checked(
    objective: Objective, lower: ArrayLike, upper: ArrayLike
) -> tuple[Matrix, Matrix]:
    shape, full = objective.b.shape, []
    for name, bound in (("lower", lower), ("upper", upper)):
        given = np.asarray(bound, np.float64)
        try:
            full.append(np.broadcast_to(given, shape))
        except ValueError:
            got = Text(f"shape {given.shape}")
            require(False, "tightened", name, f"a number or of shape {shape}", got)
        finite = np.isfinite(given.min(initial=0.0)) and np.isfinite(given.max(initial=0.0))
        require(finite, "tightened", name, "finite", bound)
    low, high = full
    require(np.all(low <= high), "tightened", "lower", "at most `upper`", lower)
    return low, high
