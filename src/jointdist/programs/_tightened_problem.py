r"""The program with the tightened positivity constraint, solved on few coefficients.

Few coefficients differ from zero where the constraint binds: the dual is solved on those that
may, and the others are verified.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Matrix, Vector
from jointdist.programs._tightened_dual import Point, Terms, threshold
from jointdist.programs._tightened_kkt import ROUNDING, certificate_of, normalised
from jointdist.programs._tightened_newton import minimise_dual
from jointdist.programs.objective import Objective
from jointdist.programs.solution import Solution, Status

__all__ = ["TightenedProblem"]

_BLOCK = 1 << 14  # elements of a block of rows: temporaries of 128 KiB stay in cache
_FIRST = 1024  # coefficients that are tried first: few differ from zero
_CANCELLED = 1e-14  # scaled normalisation of a closed form that counts as rounding
_ACCEPTED = 1e-10  # scaled residual of a solved program; most are solved to 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class TightenedProblem:
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
        kept, nu = _foremost(score.ravel()), 0.0
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


def _foremost(score: Vector) -> NDArray[np.intp]:
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
