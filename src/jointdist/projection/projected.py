r"""Projected distributions: signed ones, made proper at query time.

A model is linear in its coefficients, and a distribution in the span of few smooth functions
cannot be both peaked and positive. So the model stays as it is, and each of its distributions
is replaced by its I-projection: the distribution of least Kullback-Leibler divergence from the
marginal that matches, up to a ridge, the conditional means of some functions :math:`g`: the
first and second moments of the columns, and the leading features of the kernel. It is an
exponential tilt of the marginal on cells of support points; see
:mod:`jointdist.programs.tilting`.

Where a condition is out of distribution, so that its features represent little of it, the
distribution reverts to the marginal.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Derived
from jointdist.distributions.energy import Energy
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Projection
from jointdist.distributions.support import Support
from jointdist.programs.tilting import Exponential
from jointdist.projection.matched_moments import MatchedMoments, matched_moments
from jointdist.projection.partition import cells_by_features, cells_of_values
from jointdist.projection.proper import ProperDistributions
from jointdist.projection.settings import SETTINGS
from jointdist.projection.signed_cells import SignedCells, report_rows

__all__ = ["Projected", "Projector", "Tilts"]

_WORKED = 1 << 18  # weights worked on at a time: 2 MB, which stay in cache


@dataclass(frozen=True, eq=False)
class Projector:
    """The map from signed distributions to their I-projections.

    Attributes
    ----------
    signed : Support
        The support of the signed distributions.
    cells : CellSupport
        The cells of the sample.
    moments : MatchedMoments
        The functions whose means are matched.
    means : array of shape (1 + m, r)
        The sums of these over the support of the signed distributions.
    family : Exponential
        The exponential tilts of the marginal.
    """

    signed: Support
    cells: CellSupport
    moments: MatchedMoments
    means: Vector
    family: Exponential

    @staticmethod
    def on(signed: Support, sample: KernelSupport) -> "Projector":
        """Return the projector of signed distributions, with a default ridge.

        Parameters
        ----------
        signed : Support
            The support of the signed distributions.
        sample : KernelSupport
            The sample, whose distribution is tilted, with features.
        """
        points = sample.points
        if points.has_few_values or points.width == 1:
            cells = cells_of_values(sample, SETTINGS.interval_cells)
        else:
            cells = cells_by_features(sample, SETTINGS.feature_cells)
        moments, features = matched_moments(sample, cells)
        means = signed.expectations(moments.at)
        family = Exponential(features, cells.mean, moments.ridge(SETTINGS.default_ridge))
        return Projector(signed, cells, moments, means, family)

    def with_ridge(self, ridge: float) -> "Projector":
        """Return the same with another ridge."""
        family = replace(self.family, ridge=self.moments.ridge(ridge))
        return replace(self, family=family)

    def tuned(self, t: Vector, points: Vector, weights: Vector) -> "Projector":
        """Return the same with the ridge of the least energy score at observed outcomes.

        Parameters
        ----------
        t : array of shape (q, m)
            Coefficients of leave-one-out distributions.
        points : array of shape (q, d)
            The observed outcomes, coded.
        weights : array of shape (q,)
            Their weights.
        """
        if not len(t):
            return self
        energy = Energy.on(self.cells)
        near, targets = energy.to_points(points), self.targets(t)

        def score(ridge: float) -> float:
            family = self.with_ridge(ridge).family
            w = family.weights(family.solve(targets).theta)
            scores = energy.scores(w / self.cells.mean - 1, near)
            return float(np.average(scores, weights=weights))

        # One thread of BLAS for each ridge: on small matrices, many wait for each other.
        scores: list[float] = []
        with closing(self.signed.points.executor.each(score, SETTINGS.ridges)) as results:
            for result in results:
                scores.append(result)
                if result > SETTINGS.tolerated_score * min(scores):
                    break  # the smaller the ridge, the longer it takes
        return self.with_ridge(SETTINGS.ridges[int(np.argmin(scores))])

    def targets(self, t: Vector) -> Vector:
        """Return the means of the functions under signed distributions, ``(q, r)``."""
        found: Vector = t @ self.means[1:] + self.means[0]
        mass = np.maximum(1 + t @ self.signed.mean, SETTINGS.least_mass)
        return found / mass[:, None]

    def project(self, signed: LinearDistributions) -> "Projected":
        """Return the projections of signed distributions."""
        return Projected(self.cells, Tilts(signed.conditions, self))

    @cached_property
    def signed_cells(self) -> SignedCells:
        """The weights of cells under signed distributions."""
        return SignedCells.of(self.signed, self.cells)


class _Solved(NamedTuple):
    """Tilts of all distributions.

    Attributes
    ----------
    theta : array of shape (q, r)
        The tilts.
    raised : array of shape (q,)
        The factors by which their ridges were raised.
    steps : array of shape (q,)
        The Newton steps taken.
    """

    theta: Vector
    raised: Vector
    steps: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Tilts(Derived):
    """Conditions of projected distributions; each is an exponential tilt of the marginal.

    Attributes
    ----------
    projector : Projector
        The projection.
    """

    projector: Projector

    @cached_property
    def solved(self) -> _Solved:
        """The tilts of all distributions."""
        projector, parts = self.projector, []
        executor, step = projector.signed.points.executor, self._step
        for t in self.given.parts():
            targets = projector.targets(t)
            slices = (targets[i : i + step] for i in range(0, len(t), step))
            parts += list(executor.each(projector.family.solve, slices))
        return _Solved(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def weights(self) -> Iterator[Vector]:
        """Yield the weights of the cells under all distributions, some at a time."""
        family, theta, step = self.projector.family, self.solved.theta, self._step
        slices = (theta[i : i + step] for i in range(0, len(theta), step))
        yield from self.projector.signed.points.executor.each(family.weights, slices)

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions in order, some rows at a time."""
        for w in self.weights():
            np.divide(w, self.projector.cells.mean, out=w)
            yield np.subtract(w, 1, out=w)

    def take(self, rows: Any) -> "Tilts":
        """Return the chosen conditions; tilts that are solved stay so."""
        chosen = Tilts(self.given.take(rows), self.projector)
        if "solved" in vars(self):
            vars(chosen)["solved"] = _Solved(*(each[rows] for each in self.solved))
        return chosen

    @property
    def _step(self) -> int:
        return max(_WORKED // len(self.projector.family.shares), 1)


@dataclass(frozen=True, eq=False)
class Projected(ProperDistributions):
    """I-projections of signed distributions."""

    conditions: Tilts

    def projection(self) -> Projection:
        """Return how far the distributions are from the signed ones."""
        projector, start, rows = self.conditions.projector, 0, []
        signed = np.concatenate(list(self.conditions.given.parts()))
        for w in self.conditions.weights():
            t = signed[start : start + len(w)]
            missed = w @ projector.family.features - projector.targets(t)
            before = projector.signed_cells.weights(t)
            rows.append(report_rows(missed, w, before, projector.cells))
            start += len(w)
        missed, moved, information, size = np.concatenate(rows).T
        converged = self.conditions.solved.raised == 1
        return Projection("projected", missed, moved, information, size, converged)
