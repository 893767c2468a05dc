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

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, like, to_numpy
from jointdist._cached import Cached, cached
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Derived
from jointdist.distributions.energy import Energy
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Projection
from jointdist.distributions.support import Support
from jointdist.distributions.support_points import SupportPoints
from jointdist.programs.tilting import Exponential
from jointdist.programs.tilting import Tilts as Tilted
from jointdist.projection.matched_moments import MatchedMoments, matched_moments
from jointdist.projection.partition import cells_by_features, cells_of_values
from jointdist.projection.proper import ProperDistributions
from jointdist.projection.settings import SETTINGS
from jointdist.projection.signed_cells import SignedCells, report_rows

__all__ = ["Projected", "Projector", "Tilts"]

_WORKED = 1 << 18  # weights worked on at a time: 2 MB, which stay in cache
_ON_DEVICE = 1 << 26  # the same on an accelerator: half a gigabyte
_FOLLOWED = 32  # distributions that a thread follows along a path of ridges: work for 16


@dataclass(frozen=True, eq=False)
class Projector(Cached):
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
        cells = _cells(sample)
        moments, features = matched_moments(sample, cells)
        exact = signed is sample and sample.points.merged is not None
        means = moments.expected() if exact else signed.expectations(moments.at)
        family = Exponential(features, cells.mean, moments.ridge(SETTINGS.default_ridge))
        return Projector(signed, cells, moments, means, family)

    def with_ridge(self, ridge: float) -> "Projector":
        """Return the same with another ridge."""
        family = replace(self.family, ridge=self.moments.ridge(ridge))
        return replace(self, family=family)

    @property
    def ridge(self) -> float:
        """The ridge of the first feature."""
        return float((self.family.ridge / self.moments.penalty).max(initial=0.0))

    def on_fewer(self, points: SupportPoints) -> "Projector":
        """Return the projector on some rows of the sample, by which its ridge is chosen.

        The signed distributions and their means stay those of the whole sample. So the ridge
        does not depend on whether all rows of the sample are support points.

        Parameters
        ----------
        points : SupportPoints
            Rows of the sample, with weights.
        """
        whole = self.moments.sample
        few = self.moments.on_fewer(points)
        cells = _cells(few, SETTINGS.judged_cells)
        found, features = matched_moments(few, cells)
        moments = replace(found, sample=whole, shift=self.moments.shift)
        signed = self.signed
        means = moments.expected() if signed is whole else signed.expectations(moments.at)
        family = Exponential(features, cells.mean, moments.ridge(SETTINGS.default_ridge))
        return Projector(signed, cells, moments, means, family)

    def best_ridge(
        self, t: Vector, points: Vector, weights: Vector, *, follow: bool = False
    ) -> float:
        """Return the ridge of the least energy score at observed outcomes.

        Parameters
        ----------
        t : array of shape (q, m)
            Coefficients of leave-one-out distributions.
        points : array of shape (q, d)
            The observed outcomes, coded.
        weights : array of shape (q,)
            Their weights.
        follow : bool, default=False
            Whether tilts are found one ridge after the other, each from that of the last,
            which takes fewer steps.
        """
        share = weights / weights.sum()
        if not len(t) or 2 * (share @ share) > 1:  # one row, in effect: nothing is left out
            return SETTINGS.default_ridge
        energy = Energy.on(self.cells, most=SETTINGS.judged_points if follow else None)
        near, targets = energy.to_points(points), self.targets(t)

        def score(theta: Vector) -> float:
            w = self.family.weights(theta)
            scores = energy.scores(w / self.cells.mean - 1, near)
            return float(np.average(scores, weights=weights))

        # One thread of BLAS for each ridge: on small matrices, many wait for each other.
        scores: list[float] = []
        tilts = self._followed(targets) if follow else self._alone(targets)
        with closing(tilts), closing(tilts):  # as a pass is entered twice
            for theta in tilts:
                scores.append(score(theta))
                if scores[-1] > SETTINGS.tolerated_score * min(scores):
                    break  # the smaller the ridge, the longer it takes
        return SETTINGS.ridges[int(np.argmin(scores))]

    def _alone(self, targets: Vector) -> Generator[Vector, None, None]:
        """Yield the tilts for each ridge, several ridges at a time."""

        def solved(ridge: float) -> Vector:
            found: Vector = self.with_ridge(ridge).family.solve(targets).theta
            return found

        yield from self.signed.points.executor.each(solved, SETTINGS.ridges)

    def _followed(self, targets: Vector) -> Generator[Vector, None, None]:
        """Yield the tilts for each ridge, each from that of the ridge before."""
        executor, theta = self.signed.points.executor, None
        step, near, q = _FOLLOWED, self.nearest_family, len(targets)
        if near is not self.family:  # an accelerator works on all of them at once
            step, targets = q, like(targets, near.features)
        parts = [slice(i, min(i + step, q)) for i in range(0, q, step)]
        for ridge in SETTINGS.ridges:
            family = replace(near, ridge=like(self.moments.ridge(ridge), near.features))

            def solved(part: slice, own: Exponential = family, old: Any = theta) -> Vector:
                start = None if old is None else like(old[part], own.features)
                found: Vector = to_numpy(own.solve(targets[part, :], start).theta)
                return found

            theta = np.concatenate(list(executor.each(solved, parts)))
            yield theta

    def targets(self, t: Vector) -> Vector:
        """Return the means of the functions under signed distributions, ``(q, r)``."""
        found: Vector = t @ self.means[1:] + self.means[0]
        mass = np.maximum(1 + t @ self.signed.mean, SETTINGS.least_mass)
        return found / mass[:, None]

    def weights(self, t: Vector) -> Vector:
        """Return the weights of the cells, given coefficients of signed distributions."""
        found: Vector = self.family.weights(self.family.solve(self.targets(t)).theta)
        return found

    def project(self, signed: LinearDistributions) -> "Projected":
        """Return the projections of signed distributions."""
        return Projected(self.cells, Tilts(signed.conditions, self))

    @cached
    def nearest_family(self) -> Exponential:
        """The family where tilts are found: on the device of the model's landmarks."""
        return self.family.on(self.moments.sample.basis.map.core)

    @property
    def device_step(self) -> int:
        """Distributions that an accelerator works on at a time."""
        return max(_ON_DEVICE // len(self.family.shares), 1)

    @cached
    def signed_cells(self) -> SignedCells:
        """The weights of cells under signed distributions."""
        return SignedCells.of(self.signed, self.cells)


def _cells(sample: KernelSupport, most: int = SETTINGS.feature_cells) -> CellSupport:
    """Return the cells of a sample: intervals, distinct values, or alike in features."""
    points = sample.points
    if points.has_few_values or points.width == 1:
        return cells_of_values(sample, SETTINGS.interval_cells)
    return cells_by_features(sample, most)


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
class Tilts(Cached, Derived):
    """Conditions of projected distributions; each is an exponential tilt of the marginal.

    Attributes
    ----------
    projector : Projector
        The projection.
    """

    projector: Projector

    @cached
    def solved(self) -> _Solved:
        """The tilts of all distributions."""
        projector, parts = self.projector, []
        executor, family = projector.signed.points.executor, projector.nearest_family
        step = self.step if family is projector.family else projector.device_step
        for t in self.given.parts():
            targets = projector.targets(t)
            slices = (targets[i : i + step] for i in range(0, len(t), step))
            if family is projector.family:
                parts += list(executor.each(family.solve, slices))
            else:
                found = (family.solve(like(each, family.features)) for each in slices)
                parts += [Tilted(*map(to_numpy, each)) for each in found]
        return _Solved(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def weights(self) -> Iterator[Vector]:
        """Yield the weights of the cells under all distributions, some at a time."""
        family, theta, step = self.projector.family, self.solved.theta, self.step
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
    def step(self) -> int:
        """Distributions that are worked on at a time."""
        return max(_WORKED // len(self.projector.family.shares), 1)


@dataclass(frozen=True, eq=False)
class Projected(ProperDistributions):
    """I-projections of signed distributions."""

    conditions: Tilts

    def _expected(self, F: Vector, *, exact: bool) -> Vector:
        """Return the expectations of functions given by their sums, ``(q, k)``.

        On an accelerator the weights of the cells are multiplied there.
        """
        projector, theta = self.conditions.projector, self.conditions.solved.theta
        family, step = projector.nearest_family, projector.device_step
        if family is projector.family:
            return super()._expected(F, exact=exact)
        means = like(F[1:] / projector.cells.mean[:, None], family.features)
        parts = (theta[i : i + step] for i in range(0, len(theta), step))
        found = [family.weights(like(each, family.features)) @ means for each in parts]
        return np.concatenate([to_numpy(each) for each in found])

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and those of the marginal distribution."""
        projector, theta = self.conditions.projector, self.conditions.solved.theta
        energy, step = Energy.on(self.support, unit), self.conditions.step

        def scores(part: slice) -> Vector:
            t = projector.family.weights(theta[part])
            t /= self.support.mean
            t -= 1
            return energy.both_scores(t, points[part])

        parts = [slice(i, i + step) for i in range(0, len(theta), step)]
        found = np.concatenate(list(self.support.points.executor.each(scores, parts)))
        return found[:, 0], found[:, 1]

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
