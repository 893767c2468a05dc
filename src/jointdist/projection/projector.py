r"""Valid laws at query time: signed laws, projected one by one.

A model is linear in its coefficients, and a law in the span of few smooth functions cannot be
both peaked and positive. So the model stays as it is, and each law that is asked for is
replaced by a probability law that says the same of some functions :math:`g`: the first and
second moments of the columns, and the leading features of the kernel. *Projected* laws are
tilts, on cells of atoms; *isotonic* ones have the nearest cdf. See :mod:`.projection`.

Where a condition is unlike the sample, so that its features say little, the law falls back to
that of the sample.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Vector
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.energy import Energy
from jointdist.distributions.signed import Laws, Projection, Support, units_of
from jointdist.distributions.support_points import Atoms
from jointdist.errors import Text, require
from jointdist.programs.isotonic import isotonic
from jointdist.programs.tilting import Exponential
from jointdist.projection.cell_density import CellLaws
from jointdist.projection.cells import Cells, CellSupport, cells_of
from jointdist.projection.matched_moments import Kept, kept_functions

__all__ = ["Isotonic", "Projector", "Rising", "Tilting", "ValidLaws"]

TRIED = 512  # rows by which the ridge of projections is chosen
_CELLS = 512  # of one column
_CELLS_APART = 1024  # of several columns
_CELLS_IN_ORDER = 2048  # of isotonic laws
_RIDGE = 1e-2  # where it cannot be chosen
_RIDGES = tuple((10.0 ** np.arange(0, -4.1, -0.5)).tolist())  # that are tried
_WORSE = 1.005  # times the best score: smaller ridges are not tried
_LEAST_MASS = 0.5  # of a signed law; the rest is the sample's
_WORKED = 1 << 18  # numbers that are worked on at a time


@dataclass(frozen=True, eq=False)
class Projector:
    """What turns signed laws on a side into tilts.

    Attributes
    ----------
    signed : Support
        The atoms of the signed laws.
    cells : CellSupport
        The cells of the sample.
    kept : Kept
        The functions whose means are kept.
    means : array of shape (1 + m, r)
        The sums of these over the atoms of the signed laws.
    family : Exponential
        The tilts.
    """

    signed: Support
    cells: CellSupport
    kept: Kept
    means: Vector
    family: Exponential

    @staticmethod
    def on(signed: Support, sample: Support) -> "Projector":
        """Return that of signed laws on some atoms, with a ridge by rule.

        Parameters
        ----------
        signed : Support
            The atoms of the signed laws.
        sample : Support
            The sample, which the laws are tilts of, with a basis.
        """
        one = sample.atoms.width == 1
        cells = cells_of(sample, _CELLS if one else _CELLS_APART)
        kept, features = kept_functions(sample.atoms, cells.atoms)
        means = signed.atoms.expectations(kept.at)
        family = Exponential(features, cells.atoms.mean, kept.ridge(_RIDGE))
        return Projector(signed, cells, kept, means, family)

    def with_ridge(self, ridge: float) -> "Projector":
        """Return the same with another ridge."""
        family = replace(self.family, ridge=self.kept.ridge(ridge))
        return replace(self, family=family)

    def tuned(self, t: Vector, points: Vector, weights: Vector) -> "Projector":
        """Return the same with the ridge that is best for laws and what came of them.

        Parameters
        ----------
        t : array of shape (q, m)
            Signed laws that do not know what came of them.
        points : array of shape (q, d)
            What did, coded.
        weights : array of shape (q,)
            How often.
        """
        if not len(t):
            return self
        energy = Energy.on(self.cells)
        near, targets = energy.to_points(points), self.targets(t)

        def score(ridge: float) -> float:
            family = self.with_ridge(ridge).family
            w = family.weights(family.solve(targets).theta)
            scores = energy.scores(w / self.cells.atoms.mean - 1, near)
            return float(np.average(scores, weights=weights))

        # One thread of BLAS for each ridge: on small matrices, many wait for each other.
        scores: list[float] = []
        with closing(self.signed.atoms.executor.each(score, _RIDGES)) as found:
            for own in found:
                scores.append(own)
                if own > _WORSE * min(scores):
                    break  # the smaller the ridge, the longer it takes
        return self.with_ridge(_RIDGES[int(np.argmin(scores))])

    def targets(self, t: Vector) -> Vector:
        """Return the means of the functions under signed laws, ``(q, r)``."""
        found: Vector = t @ self.means[1:] + self.means[0]
        mass = np.maximum(1 + t @ self.signed.atoms.mean, _LEAST_MASS)
        return found / mass[:, None]

    def dists(self, signed: Laws) -> "ValidLaws":
        """Return the projections of signed laws."""
        return ValidLaws(self.cells, Tilting(signed.queries, self))

    @cached_property
    def cell_sums(self) -> Vector:
        r"""The sums of :math:`\omega (1, \Psi)` of the signed laws' atoms over cells."""
        return _cell_sums(self.signed.atoms, self.cells.atoms)


@dataclass(frozen=True, eq=False)
class _Asked(ABC):
    """The conditions of valid laws.

    Attributes
    ----------
    signed : Queries or Fixed
        Those of the signed laws.
    projector : Projector or Isotonic
        What makes them valid.
    """

    signed: Queries | Fixed
    projector: Any

    @property
    def n(self) -> int:
        """The number of laws."""
        return self.signed.n

    @abstractmethod
    def weights(self) -> Iterator[Vector]:
        """Yield the weights of the cells under all laws, some at a time."""

    @abstractmethod
    def report(self) -> Projection:
        """Return how far the laws are from the signed ones."""

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all laws, some at a time."""
        for w in self.weights():
            w /= self.projector.cells.atoms.mean  # noqa: PLW2901
            w -= 1  # noqa: PLW2901
            yield w

    def novelty(self) -> Vector:
        """Return how unlike the sample each condition is, from zero to one."""
        return self.signed.novelty()

    def labels(self) -> tuple[str, list[str]]:
        """Return what tells few conditions apart."""
        return self.signed.labels()

    def take(self, rows: Any) -> Self:
        """Return the chosen laws."""
        return replace(self, signed=self.signed.take(rows))


class Tilting(_Asked):
    """The conditions of projected laws."""

    projector: Projector

    @cached_property
    def found(self) -> tuple[Vector, Vector, NDArray[np.intp]]:
        """The tilts of all laws, by what their ridges were raised, and the steps taken."""
        projector = self.projector
        executor, parts = projector.signed.atoms.executor, []
        for t in self.signed.parts():
            targets = projector.targets(t)
            step = max(_WORKED // len(projector.family.shares), 1)
            slices = (targets[i : i + step] for i in range(0, len(t), step))
            parts += list(executor.each(projector.family.solve, slices))
        theta, raised, steps = (np.concatenate(own) for own in zip(*parts, strict=True))
        return theta, raised, steps

    def weights(self) -> Iterator[Vector]:
        """Yield the weights of the cells under all laws, some at a time."""
        family, theta = self.projector.family, self.found[0]
        executor = self.projector.signed.atoms.executor
        step = max(_WORKED // len(family.shares), 1)
        slices = (theta[i : i + step] for i in range(0, len(theta), step))
        yield from executor.each(family.weights, slices)

    def take(self, rows: Any) -> Self:
        """Return the chosen laws."""
        chosen = super().take(rows)
        if "found" in vars(self):
            vars(chosen)["found"] = tuple(own[rows] for own in self.found)
        return chosen

    def report(self) -> Projection:
        """Return how far the laws are from the signed ones."""
        projector, (_, raised, _) = self.projector, self.found
        cells, start, rows = projector.cells.atoms, 0, []
        signed = np.concatenate(list(self.signed.parts()))
        for w in self.weights():
            t = signed[start : start + len(w)]
            missed = w @ projector.family.features - projector.targets(t)
            rows.append(_told(missed, w, _signed_weights(projector, t), cells))
            start += len(w)
        missed, moved, information, size = np.concatenate(rows).T
        return Projection("projected", missed, moved, information, size, raised == 1)


@dataclass(frozen=True, eq=False)
class Isotonic:
    """What gives signed laws of one column the nearest cdf.

    Attributes
    ----------
    signed : Support
        The atoms of the signed laws.
    cells : CellSupport
        The same in cells; each value has its own if they are at most 2,048.
    """

    signed: Support
    cells: CellSupport

    @staticmethod
    def on(signed: Support, where: str) -> "Isotonic":
        """Return that of signed laws on some atoms.

        Parameters
        ----------
        signed : Support
            The atoms.
        where : str
            Who asks, for messages.
        """
        atoms = signed.atoms
        good = atoms.width == 1 and atoms.encoding.numeric
        got = Text('"isotonic", for laws of several columns or words; ask for "projected"')
        rule = "for laws of one column of numbers"
        require(good, where, "positivity", rule, got)
        return Isotonic(signed, cells_of(signed, _CELLS_IN_ORDER))

    @cached_property
    def cell_sums(self) -> Vector:
        r"""The sums of :math:`\omega (1, \Psi)` of the atoms over cells."""
        return _cell_sums(self.signed.atoms, self.cells.atoms)

    @cached_property
    def in_order(self) -> tuple[NDArray[np.intp], Vector]:
        """The cells from the lowest to the highest, and their means."""
        centres = self.cells.atoms.centres[:, 0]
        order = np.argsort(centres)
        return order, centres[order]

    def dists(self, signed: Laws) -> "ValidLaws":
        """Return the projections of signed laws."""
        return ValidLaws(self.cells, Rising(signed.queries, self))


class Rising(_Asked):
    """The conditions of isotonic laws."""

    projector: Isotonic

    def weights(self) -> Iterator[Vector]:
        """Yield the weights of the cells under all laws, some at a time."""
        projector = self.projector
        order, centres = projector.in_order
        executor = projector.signed.atoms.executor
        step = max(_WORKED // len(order), 1)

        def work(t: Vector) -> Vector:
            found = np.empty((len(t), len(order)))
            found[:, order] = isotonic(_signed_weights(projector, t)[:, order], centres)
            return found

        for t in self.signed.parts():
            slices = (t[i : i + step] for i in range(0, len(t), step))
            yield from executor.each(work, slices)

    def report(self) -> Projection:
        """Return how far the laws are from the signed ones."""
        projector, start, rows = self.projector, 0, []
        cells = projector.cells.atoms
        unit = units_of(cells.centres, cells.mean)
        signed = np.concatenate(list(self.signed.parts()))
        for w in self.weights():
            before = _signed_weights(projector, signed[start : start + len(w)])
            missed = (w - before) @ cells.centres / unit
            rows.append(_told(missed, w, before, cells))
            start += len(w)
        missed, moved, information, size = np.concatenate(rows).T
        good = np.ones(start, dtype=bool)
        return Projection("isotonic", missed, moved, information, size, good)


@dataclass(frozen=True, eq=False)
class ValidLaws(CellLaws):
    """Laws on cells that signed ones were turned into."""

    queries: Tilting | Rising  # type: ignore[assignment]

    def projection(self) -> Projection:
        """Return how far the laws are from the signed ones."""
        return self.queries.report()


def _signed_weights(projector: Projector | Isotonic, t: Vector) -> Vector:
    """Return the weights of cells under signed laws; the sample has what mass they lack."""
    sums, shares = projector.cell_sums, projector.cells.atoms.mean
    found: Vector = t @ sums[1:] + sums[0]
    mass = 1 + t @ projector.signed.atoms.mean
    whole = np.maximum(mass, _LEAST_MASS)[:, None]
    found += (whole - mass[:, None]) * shares
    return found / whole


def _told(missed: Vector, w: Vector, signed: Vector, cells: Cells) -> Vector:
    """Return what a report says of each law, as rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(w > 0, np.log(w / cells.mean), 0.0)
    return np.stack(
        [
            np.abs(missed).max(axis=1, initial=0.0),
            np.abs(w - signed).sum(axis=1) / 2,
            (w * logs).sum(axis=1),
            1 / cells.squared_weights(w / cells.mean - 1),
        ],
        axis=1,
    )


def _cell_sums(atoms: Atoms, cells: Cells) -> Vector:
    r"""Return the sums of :math:`\omega (1, \Psi)` over the atoms in each cell, ``(1 + m, K)``.

    Atoms that are not those of the cells are among them as rows.
    """
    own = cells.cell if atoms is cells.sample else cells.cell_of(atoms)

    def block(start: int, z: Array) -> Vector:
        rows = np.arange(start, start + z.shape[0])
        return cells.added(own[rows], atoms.sums(rows))

    sums: Vector = sum(atoms.executor.map(block, atoms.rows))  # type: ignore[assignment]
    return sums.T
