r"""Positivity everywhere, in the features of the pivots (Lemma `lem:positive`).

The coefficients of the features before rotation are :math:`Z = T_Y H T_X^\top`, and
bounds of those features' products bound the density, Eq. `eq:condpos`. The quadratic is
diagonal in :math:`H`, the constraint is simple in :math:`Z`, and both meet on the graph
of the map, onto which the eigenvectors of its two factors project.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Matrix, Vector
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.data.executor import one_blas_thread
from jointdist.programs._anderson import iterate
from jointdist.programs._splitting import (
    RECENT,
    RELAXATION,
    Proximal,
    finished,
    first_weight,
    lagging,
    moved,
)
from jointdist.programs.objective import Objective, closed_form
from jointdist.programs.solution import Solution

__all__ = ["pivot_positive"]


def pivot_positive(
    objective: Objective,
    T_y: Matrix,
    T_x: Matrix,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    tol: float = 1e-6,
    max_iter: int = 20_000,
) -> Solution:
    r"""Minimise under the pointwise positivity of Lemma `lem:positive`.

    .. math:: 1 + \sum_{ij} \min(a_{ij} Z_{ij}, b_{ij} Z_{ij}) \ge 0,
        \qquad Z = T_Y H T_X^\top,

    which is Eq. `eq:condpos`, with the normalisation if the objective has one. Use
    :func:`~jointdist.programs.tightened` if both maps are the identity. Accelerated
    Douglas-Rachford splitting; a step costs a few products of small matrices, but many
    are needed where the maps are badly conditioned.

    Parameters
    ----------
    objective : Objective
        The objective, with or without normalisation.
    T_y, T_x : arrays of shape (m_Y, m_Y) and (m_X, m_X)
        The maps from rotated coefficients to those of the pivots' features.
    lower, upper : arrays of shape (m_Y, m_X), or numbers
        Bounds :math:`a \le 0 \le b` of the products of the pivots' features.
    tol : float, default=1e-6
        The relative duality gap to reach.
    max_iter : int, default=20000
        The most steps.

    Returns
    -------
    Solution
        With the multipliers ``"positivity"``, ``"features"`` (a matrix between the
        bounds times the former) and ``"normalisation"`` if there is one. The
        constraints hold in any case.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs import Objective, pivot_positive
    >>> objective = Objective(np.array([[-3.0, 0.5]]), np.ones(1), np.ones(2), 0.0)
    >>> solution = pivot_positive(objective, np.eye(1), np.eye(2), 0.0, 1.0, tol=1e-9)
    >>> bool(np.allclose(solution.value, [[-1.0, 0.5]], atol=1e-4))
    True
    """
    bounds = _checked(objective, T_y, T_x, lower, upper)
    where = "pivot_positive"
    require(is_number(tol, least=0.0), where, "tol", "a number of at least zero", tol)
    whole = is_whole(max_iter, least=1)
    require(whole, where, "max_iter", "a whole number of at least one", max_iter)
    with one_blas_thread() as one, one:  # the matrices are small
        free = closed_form(objective)
        if _total(free.value, (T_y, T_x), bounds) >= -1:
            zero = np.zeros_like(free.value)
            multipliers = {**free.multipliers, "positivity": 0.0, "features": zero}
            return Solution(
                free.value,
                free.objective,
                certificate=free.certificate,
                multipliers=multipliers,
            )
        graph = _Graph(objective, (T_y, T_x), bounds, tol)
        steps = iterate(graph, np.zeros(2 * objective.b.size), max_iter)
        return graph.solution(steps)


def _checked(
    objective: Objective, T_y: Matrix, T_x: Matrix, lower: ArrayLike, upper: ArrayLike
) -> tuple[Matrix, Matrix]:
    where, shape, full = "pivot_positive", objective.b.shape, []
    for name, T, m in zip(("T_y", "T_x"), (T_y, T_x), shape, strict=True):
        got = Text(f"shape {T.shape}")
        require(T.shape == (m, m), where, name, f"of shape {(m, m)}", got)
    for name, bound, sign in (("lower", lower, -1), ("upper", upper, 1)):
        given = np.asarray(bound, np.float64)
        fits = given.shape in {(), shape}
        got = Text(f"shape {given.shape}")
        require(fits, where, name, f"a number or of shape {shape}", got)
        rule = "at most zero and finite" if sign < 0 else "at least zero and finite"
        right = np.all(sign * given >= 0) and np.isfinite(given).all()
        require(right, where, name, rule, bound)
        full.append(np.broadcast_to(given, shape))
    return full[0], full[1]


def _projected(V: Matrix, lower: Matrix, upper: Matrix, nu: float) -> tuple[Matrix, float]:
    """Return the nearest point that meets the inequality, and its multiplier.

    The dual's slope is increasing and concave: Newton's method overshoots never twice.
    """
    for _ in range(100):
        low, high = np.maximum(V + nu * lower, 0), np.minimum(V + nu * upper, 0)
        slack = 1 + float(np.sum(lower * low) + np.sum(upper * high))
        curve = float(np.sum(lower[low > 0] ** 2) + np.sum(upper[high < 0] ** 2))
        new = max(nu - slack / curve, 0.0) if curve > 0 else 0.0
        if abs(new - nu) <= 1e-15 * nu or (slack >= 0 and nu == 0):
            break
        nu = new
    return low + high, nu


def _total(H: Matrix, maps: tuple[Matrix, Matrix], bounds: tuple[Matrix, Matrix]) -> float:
    """Return the least value that the bounds allow the density, less one."""
    Z = maps[0] @ H @ maps[1].T
    return float(np.minimum(bounds[0] * Z, bounds[1] * Z).sum())


def _singular(T: Matrix) -> tuple[Vector, Matrix]:
    _, s, Q = np.linalg.svd(T)
    return s, Q.T


class _Graph:
    """The splitting into objective and inequality, and the graph where they meet."""

    def __init__(
        self,
        objective: Objective,
        maps: tuple[Matrix, Matrix],
        bounds: tuple[Matrix, Matrix],
        tol: float,
    ) -> None:
        self.objective, self.tol = objective, tol
        (self.T_y, self.T_x), (self.lower, self.upper) = maps, bounds
        (s_y, self.Q_y), (s_x, self.Q_x) = _singular(maps[0]), _singular(maps[1])
        largest, least = float(s_y[0] * s_x[0]), float(s_y[-1] * s_x[-1])
        least = max(least, 1e-16 * largest, 1e-300)
        self.stretch = np.multiply.outer(s_y, s_x)
        self.use_scale(0.2 / least)
        self.upper_value, self.lower_value = math.inf, -math.inf
        self.H = self.W = np.zeros_like(objective.b)
        self.nu = self.nu_last = 0.0
        self.history: list[tuple[float, float]] = []
        self.first = first_weight(objective)
        self.use_weight(self.first)

    def use_scale(self, c: float) -> None:
        """Scale the features' coefficients by c: the metric in which both parts meet."""
        self.c = c
        self.shrink = 1 / (1 + (c * self.stretch) ** 2)
        self.K_y, self.K_x = self.T_y @ self.Q_y, c * (self.T_x @ self.Q_x)

    def use_weight(self, rho: float) -> None:
        self.rho, self.proximal = rho, Proximal(self.objective, rho)

    def joined(self, of_h: Matrix, of_z: Matrix) -> Vector:
        return np.concatenate([of_h.ravel(), of_z.ravel()])

    def step(self, v: Vector) -> Vector:
        of_h, of_z = v.reshape(2, *self.objective.b.shape)
        h = self.proximal(of_h)
        low, high = self.lower / self.c, self.upper / self.c
        z, self.nu_last = _projected(of_z, low, high, self.nu_last)
        self.h, self.z, self.off_h, self.off_z = h, z, of_h - h, of_z - z
        new_h, new_z = self.on_graph(h - self.off_h, z - self.off_z)
        return v + RELAXATION * self.joined(new_h - h, new_z - z)

    def on_graph(self, h: Matrix, z: Matrix) -> tuple[Matrix, Matrix]:
        """Return the nearest pair with z = c T_y h T_x'."""
        core = self.Q_y.T @ h @ self.Q_x + self.K_y.T @ z @ self.K_x
        core *= self.shrink
        return self.Q_y @ core @ self.Q_x.T, self.K_y @ core @ self.K_x.T

    def done(self) -> bool:
        """Improve the feasible point and the lower bound, from the last step."""
        objective, a = self.objective, self.objective.a
        H = objective.normalised(self.h)
        square = float(np.sum(a * H * H))
        share = float(np.sum(objective.b * H)) / square if square > 0 else 0.0
        total = -_total(H, (self.T_y, self.T_x), (self.lower, self.upper))
        H = H * max(min(share, 1 / total if total > 0 else math.inf), 0.0)
        if (value := objective(H)) < self.upper_value:
            self.upper_value, self.H = value, H
        nu = self.rho * self.nu_last
        W = np.clip(-self.rho * self.c * self.off_z, nu * self.lower, nu * self.upper)
        free = objective.normalised(objective.b * objective.inverse)
        D = objective.normalised(self.T_y.T @ W @ self.T_x * objective.inverse)
        square = float(np.sum(a * D * D))
        best = -(float(np.sum(a * free * D)) + nu) / square if square > 0 else 0.0
        best = max(best, 0.0)
        dual = free + best * D
        bound = -float(np.sum(a * dual * dual)) - 2 * best * nu
        if bound > self.lower_value:
            self.lower_value, self.W, self.nu = bound, best * W, best * nu
        self.history.append((self.upper_value, self.lower_value))
        return self.gap <= self.tol

    @property
    def gap(self) -> float:
        missing = max(self.upper_value - self.lower_value, 0.0)
        return missing / max(abs(self.upper_value), 1e-300)

    def reweighted(self, *, often: bool) -> Vector | None:
        """Bring both parts to like size; if they are, help the bound that moves.

        Measured: the features' part should be about three times as large, and the
        weight never above the first one that let the multipliers grow.
        """
        sizes = [float(np.linalg.norm(x)) for x in (self.h, self.z, self.off_h)]
        ratio, factor = 3 * sizes[0] / max(sizes[1], 1e-300), lagging(sizes[2], sizes[0])
        if factor > 1:
            self.first, ratio = self.rho * factor, 1.0
        elif often:
            return None
        elif 0.25 <= ratio <= 4:
            upper, lower = self.history[-RECENT:][0]
            factor = moved(upper - self.upper_value, self.lower_value - lower)
            least, most = 0.1 * self.first / self.rho, self.first / self.rho
            factor, ratio = min(max(factor, least), most), 1.0
        ratio = min(max(ratio, 1e-4), 1e4)
        z, off_z = ratio * self.z, self.off_z / (ratio * factor)
        self.use_scale(self.c * ratio)
        self.use_weight(self.rho * factor)
        self.nu_last /= factor
        return self.joined(self.h + self.off_h / factor, z + off_z)

    def solution(self, steps: int) -> Solution:
        H, pull = self.H, self.T_y.T @ self.W @ self.T_x
        total = _total(H, (self.T_y, self.T_x), (self.lower, self.upper))
        active = self.nu > 0
        return finished(
            self.objective,
            H,
            pull,
            violation=-1 - total,
            complementarity=abs(1 + float(np.sum(pull * H)) / self.nu) if active else 0.0,
            gap=self.gap,
            optimal=self.gap <= self.tol,
            multipliers={"positivity": self.nu, "features": self.W},
            iterations=steps,
        )
