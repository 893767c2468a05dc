r"""Positivity everywhere by the spectral norm of the coefficients.

The basis functions are orthonormal in the kernel's space, Eq. `orthoPsiH`, so that by
Bessel's inequality :math:`|\Psi(x)|_2^2 \le k(x, x)`, and with it

.. math:: |h(x, y)| = |\Psi_Y(y) H \Psi_X(x)^\top|
    \le |H|_{op} \sqrt{k_X(x, x)\, k_Y(y, y)}.

With kernels of at most one, :math:`|H|_{op} \le 1` makes the density positive at every
pair. It allows more than the rotated form of Lemma `lem:positive`, which is
:math:`\sum |H_{ij}| \le 1`.
"""

import math

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._rules import is_number, is_whole, require
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

__all__ = ["spectral_ball"]


def spectral_ball(
    objective: Objective,
    radius: float = 1.0,
    *,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> Solution:
    r"""Minimise under :math:`|H|_{op} \le r`, with the normalisation if there is one.

    Accelerated Douglas-Rachford splitting: a step costs one singular value
    decomposition of the coefficients. It ends when a feasible point and a lower bound
    agree. At once if the constraint does not bind.

    Parameters
    ----------
    objective : Objective
        The objective, with or without normalisation.
    radius : float, default=1.0
        The largest spectral norm :math:`r`.
    tol : float, default=1e-6
        The relative duality gap to reach.
    max_iter : int, default=5000
        The most steps.

    Returns
    -------
    Solution
        With the multipliers ``"spectral"``, a matrix, and ``"normalisation"`` if there
        is one. The constraints hold in any case.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs import Objective, spectral_ball
    >>> objective = Objective(np.diag([3.0, 0.5]), np.ones(2), np.ones(2), 0.0)
    >>> solution = spectral_ball(objective, 1.0, tol=1e-9)
    >>> bool(np.allclose(solution.value, np.diag([1.0, 0.5]), atol=1e-4))
    True
    """
    where = "spectral_ball"
    positive = is_number(radius, least=0.0) and radius > 0
    require(positive, where, "radius", "a positive number", radius)
    require(is_number(tol, least=0.0), where, "tol", "a number of at least zero", tol)
    whole = is_whole(max_iter, least=1)
    require(whole, where, "max_iter", "a whole number of at least one", max_iter)
    with one_blas_thread() as one, one:  # the matrices are small
        free = closed_form(objective)
        if _norm(free.value) <= radius:
            return _unbound(free)
        ball = _Ball(objective, float(radius), tol)
        steps = iterate(ball, np.zeros(objective.b.size), max_iter)
        return ball.solution(steps)


def _norm(H: Matrix) -> float:
    return float(np.linalg.norm(H, 2)) if H.size else 0.0


def _unbound(free: Solution) -> Solution:
    multipliers = {**free.multipliers, "spectral": np.zeros_like(free.value)}
    return Solution(
        free.value, free.objective, certificate=free.certificate, multipliers=multipliers
    )


class _Ball:
    """The splitting into the normalised objective and the ball."""

    def __init__(self, objective: Objective, radius: float, tol: float) -> None:
        self.objective, self.radius, self.tol = objective, radius, tol
        self.kept = objective.inverse > 0
        self.upper, self.lower = math.inf, -math.inf
        self.history: list[tuple[float, float]] = []
        self.H = self.Y = np.zeros_like(objective.b)
        self.use_weight(first_weight(objective))

    def use_weight(self, rho: float) -> None:
        self.rho, self.proximal = rho, Proximal(self.objective, rho)

    def step(self, v: Vector) -> Vector:
        v = v.reshape(self.objective.b.shape)
        h = self.proximal(v)
        w = 2 * h - v
        P, s, Q = np.linalg.svd(w, full_matrices=False)
        over = int(np.sum(s > self.radius))
        self.excess = (P[:, :over] * (s[:over] - self.radius)) @ Q[:over]
        self.nuclear = float(np.sum(s[:over] - self.radius))
        self.h, self.z = h, w - self.excess
        new: Matrix = v + RELAXATION * (self.z - h)
        return new.ravel()

    def done(self) -> bool:
        """Improve the feasible point and the lower bound, from the last step."""
        H = self.objective.normalised(self.h)
        share = min(self.best_share(H), self.radius / max(_norm(H), 1e-300))
        H = H * max(share, 0.0)
        if (value := self.objective(H)) < self.upper:
            self.upper, self.H = value, H
        Y = self.rho * self.excess
        bound = self.least(Y) - 2 * self.radius * self.rho * self.nuclear
        if bound > self.lower:
            self.lower, self.Y = bound, Y
        self.history.append((self.upper, self.lower))
        return self.gap <= self.tol

    def least(self, Y: Matrix) -> float:
        r"""Return the least Lagrangian with multiplier Y over :math:`|H_{ij}| \le r`.

        The ball lies in that cube, so that the bound holds, and it stays finite where
        ``a`` is tiny.
        """
        r, inverse, e = self.radius, self.objective.inverse, self.objective.e
        c = self.objective.b - Y
        if e is not None:
            c = c - self.objective.multiplier(c * inverse) * e
        c = np.abs(c[self.kept])
        edge = self.objective.a[self.kept] * r
        inside = c <= edge
        return -float(
            np.sum(np.where(inside, c * c * inverse[self.kept], (2 * c - edge) * r))
        )

    def best_share(self, H: Matrix) -> float:
        """Return the multiple of H that minimises the objective."""
        square = float(np.sum(self.objective.a * H * H))
        return float(np.sum(self.objective.b * H)) / square if square > 0 else 0.0

    @property
    def gap(self) -> float:
        return max(self.upper - self.lower, 0.0) / max(abs(self.upper), 1e-300)

    def reweighted(self, *, often: bool) -> Vector | None:
        """Help the bound that moves: the feasible point by a larger weight."""
        size, excess = float(np.linalg.norm(self.h)), float(np.linalg.norm(self.excess))
        factor = lagging(excess, size)
        if factor == 1 and often:
            return None
        if factor == 1:
            upper, lower = self.history[-RECENT:][0]
            factor = moved(upper - self.upper, self.lower - lower)
        Y = self.rho * self.excess
        self.use_weight(self.rho * factor)
        v: Matrix = self.z - Y / self.rho
        return v.ravel()

    def solution(self, steps: int) -> Solution:
        H, Y, r = self.H, self.Y, self.radius
        nuclear = float(np.linalg.norm(Y, "nuc"))
        slack = abs(r * nuclear - float(np.sum(Y * H)))
        return finished(
            self.objective,
            H,
            -Y,
            violation=_norm(H) / r - 1,
            complementarity=slack / max(r * nuclear, 1e-300),
            gap=self.gap,
            optimal=self.gap <= self.tol,
            multipliers={"spectral": Y},
            iterations=steps,
        )
