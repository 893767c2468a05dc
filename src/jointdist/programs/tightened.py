r"""The single-inequality tightening of positivity (paper, section 4.3.2).

One inequality in place of one for each pair of the sample. Its dual has two dimensions,
and few coefficients differ from zero where it binds: the dual is solved on those that
may, and the others are verified.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist._array import Matrix, Vector
from jointdist.errors import Text, is_whole, require
from jointdist.programs._tightened_dual import Point, Terms, threshold
from jointdist.programs._tightened_kkt import ROUNDING, certificate_of, normalised
from jointdist.programs._tightened_newton import minimise_dual
from jointdist.programs.objective import Objective, closed_form
from jointdist.programs.solution import Solution, Status

__all__ = ["product_bounds", "tightened"]

_BLOCK = 1 << 14  # elements of a block of rows: temporaries of 128 KiB stay in cache
_FIRST = (
    1024  # coefficients that are tried first: where the constraint binds, few are not zero
)
_CANCELLED = 1e-14  # scaled normalisation of a closed form that counts as rounding
_ACCEPTED = 1e-10  # scaled residual of a solved program; most are solved to 1e-14


def product_bounds(
    lower_y: ArrayLike, upper_y: ArrayLike, lower_x: ArrayLike, upper_x: ArrayLike
) -> tuple[Matrix, Matrix]:
    r"""Bound the products of functions that are bounded one by one.

    The matrices :math:`\underline C` of Eq. `minCdef` and :math:`\overline C` of
    Eq. `maxCdef`: the least and the largest of :math:`\Psi_{Y,i} \Psi_{X,j}` over all
    pairs.

    Parameters
    ----------
    lower_y, upper_y : arrays of shape (m_Y,)
        The least and the largest value of each function of Y.
    lower_x, upper_x : arrays of shape (m_X,)
        The same of X.

    Returns
    -------
    tuple of arrays of shape (m_Y, m_X)
        The lower bounds, and the upper bounds.

    Examples
    --------
    >>> from jointdist.programs import product_bounds
    >>> product_bounds([-1.0], [2.0], [-3.0], [1.0])
    (array([[-6.]]), array([[3.]]))
    """
    where = "product_bounds"
    y = _interval(where, "lower_y", lower_y, upper_y)
    x = _interval(where, "lower_x", lower_x, upper_x)
    corners = [np.multiply.outer(of_y, of_x) for of_y in y for of_x in x]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _interval(
    where: str, name: str, lower: ArrayLike, upper: ArrayLike
) -> tuple[Vector, Vector]:
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    got = Text(f"shapes {low.shape} and {high.shape}")
    other = name.replace("lower", "upper")
    require(
        low.ndim == 1 and low.shape == high.shape,
        where,
        name,
        f"a vector as long as `{other}`",
        got,
    )
    require(np.all(low <= high), where, name, f"at most `{other}`", lower)
    return low, high


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
    pair of the sample if the bounds are those of :func:`product_bounds` over its rows
    (Lemma `lemposi`). Coefficients that the objective leaves out stay zero. A step
    costs :math:`O(m_Y m_X)` at most.

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
    problem = _Problem(objective, *bounds)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The program; all work over all coefficients is done in blocks of rows."""

    objective: Objective
    lower: Matrix
    upper: Matrix

    def blocks(self) -> Iterator[slice]:
        m_y, m_x = self.objective.b.shape
        rows = max(1, _BLOCK // max(m_x, 1))
        return (slice(start, start + rows) for start in range(0, m_y, rows))

    def gradient(self, mu: float, part: slice) -> Matrix:
        """Return :math:`r = b - mu e` of some rows."""
        if self.objective.e is None or mu == 0:
            return self.objective.b[part]
        r = self.objective.e[part] * -mu
        r += self.objective.b[part]
        return r

    def first_look(self, mu: float) -> tuple[float, Matrix]:
        """Return the slack without positivity, and the nu at which each would vanish."""
        slack, score = 1.0, np.empty(self.objective.b.shape)
        signs = bool((self.lower <= 0).all() and (self.upper >= 0).all())
        for part in self.blocks():
            r = self.gradient(mu, part)
            low, high, weight = (
                self.lower[part],
                self.upper[part],
                self.objective.inverse[part],
            )
            h = r * weight
            slack += float(np.minimum(low * h, high * h).sum())
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                np.fmax(r / -low, -r / high, out=score[part])
            if not signs:
                score[part][(low > 0) | (high < 0)] = np.inf
            score[part][weight == 0] = -np.inf
        return slack, score

    def unbound(self, free: Solution) -> Solution:
        """Return the closed form; normalised again where its terms cancelled."""
        data, H = self.objective, free.value
        off = 0.0 if data.e is None else abs(float(np.vdot(data.e, H)))
        if (
            data.e is None
            or off <= _CANCELLED
            or (off <= _CANCELLED * float(np.abs(data.e * H).sum()))
        ):
            multipliers = {**free.multipliers, "positivity": 0.0}
            return replace(free, multipliers=multipliers)
        mu = float(free.multipliers["normalisation"])
        for _ in range(3):
            mu, H = mu + data.multiplier(H), data.normalised(H)
        kept = np.flatnonzero(data.inverse)
        return self.solution(Point(mu, 0.0), kept, H.ravel()[kept])

    def solve(
        self, mu: float, score: Matrix, max_iter: int
    ) -> tuple[Point, NDArray[np.intp], Vector]:
        """Solve on the coefficients that may count; add those that turn out to."""
        kept, nu = _largest(score.ravel()), 0.0
        inside = np.zeros(score.size, dtype=bool)
        steps = 0
        while True:
            terms = self.terms(kept)
            if nu <= 0:
                nu = threshold(terms, mu)
            point, h = minimise_dual(terms, mu, nu, max_iter)
            steps, mu, nu = steps + point.iterations, point.mu, point.nu
            inside[kept] = True
            missing = self.active(mu, nu, inside)
            if len(missing) == 0:
                return point._replace(iterations=steps), kept, h
            kept = np.concatenate([kept, missing])
            if len(kept) > score.size // 3:
                kept = np.flatnonzero(self.objective.inverse)

    def terms(self, kept: NDArray[np.intp]) -> Terms:
        """Return the data of some coefficients."""
        data = self.objective
        e = None if data.e is None else _taken(data.e, kept)
        lower, upper = _taken(self.lower, kept), _taken(self.upper, kept)
        return Terms(_taken(data.b, kept), _taken(data.inverse, kept), e, lower, upper)

    def active(self, mu: float, nu: float, inside: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the coefficients not inside that differ from zero at the multipliers."""
        found, shape = [], self.objective.b.shape
        inside = inside.reshape(shape)
        for part in self.blocks():
            r = self.gradient(mu, part)
            on = nu * self.lower[part] + r > 0
            on |= nu * self.upper[part] + r < 0
            on &= ~inside[part]
            on &= self.objective.inverse[part] > 0
            found.append(np.flatnonzero(on) + part.start * shape[1])
        return np.concatenate(found)

    def solution(self, point: Point, kept: NDArray[np.intp], h: Vector) -> Solution:
        """Make it feasible to the last digit, and say how good it is."""
        terms = self.terms(kept)
        a, h = _taken(self.objective.a, kept), normalised(terms, h)
        parts = np.minimum(terms.lower * h, terms.upper * h)
        missing = -1 - float(parts.sum())
        if 0 < missing <= ROUNDING or missing > ROUNDING * float(np.abs(parts).sum()):
            h = h / (1 + missing)
        value = float(np.sum((a * h - 2 * terms.b) * h))
        certificate = certificate_of(terms, a, h, point, value)
        H = np.zeros(self.objective.b.size)
        H[kept] = h
        multipliers = {"positivity": point.nu}
        if terms.e is not None:
            multipliers["normalisation"] = point.mu
        ok = certificate.residual <= _ACCEPTED
        return Solution(
            H.reshape(self.objective.b.shape),
            value,
            status=Status.OPTIMAL if ok else Status.INEXACT,
            certificate=certificate,
            multipliers=multipliers,
            iterations=point.iterations,
        )


def _taken(x: Matrix, kept: NDArray[np.intp]) -> Vector:
    """Return some elements; all of them are always in order, and are not copied."""
    if len(kept) == x.size:
        return x.ravel()
    return x[np.unravel_index(kept, x.shape)]


def _largest(score: Vector) -> NDArray[np.intp]:
    """Return the places of the largest scores, about as many as are tried first."""
    if score.size <= 2 * _FIRST:
        return np.flatnonzero(score > -np.inf)
    sample = score[:: max(1, score.size // (8 * _FIRST))]
    rank = max(len(sample) * _FIRST // score.size, 1)
    threshold = np.partition(sample, len(sample) - rank)[len(sample) - rank]
    found = np.flatnonzero(score >= max(threshold, np.finfo(float).tiny))
    if _FIRST // 8 <= len(found) <= 8 * _FIRST:
        return found
    found = np.argpartition(score, -_FIRST)[-_FIRST:]
    return found[score[found] > -np.inf]
