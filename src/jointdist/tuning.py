r"""Kernels and ridges judged on rows held out, with one pass over the rows.

Every sum over the rows that a model is fitted to is the sum over all rows less that over
the rows held out. The features of a side, its sums and its bases are those of one kernel,
whatever the other side's; for each pair of kernels only :math:`G_{YX}` is new. And for
every ridge the coefficients are a division.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, array_namespace, like, to_numpy
from jointdist.atoms import Vector
from jointdist.basis import Basis, side_basis
from jointdist.criteria import Trial, risk_of
from jointdist.errors import Words, require
from jointdist.executor import Executor
from jointdist.features import kernel_diagonal
from jointdist.folds import held_out, settled
from jointdist.lowrank import LowRank
from jointdist.moments import Moments, powers
from jointdist.progress import Tell
from jointdist.sample import Sample
from jointdist.scales import Family
from jointdist.selection import Candidate, Selected, Selection

__all__ = [
    "Climb",
    "Contest",
    "Side",
    "paired_moments",
    "parted",
    "sum_without",
]

T = TypeVar("T")

_STRENGTHS = 10.0 ** np.arange(2, -7.1, -0.5)  # ridges times the number of rows
_LATTICE = range(-6, 4)  # powers of two, by which scales are multiplied
_REPEATS, _FEW = 2, 400  # times that rows are parted at most, and rows so counted
_BETTER = 5e-3  # of the score, by which it must fall for another candidate
_CLEARLY = 0.02  # of the score, by which a scale for each column must be better
_NEARLY = 0.01, 0.025  # of the score, that a larger ridge may cost
_HOPELESS = 0.05  # of the score, by which it may rise before neighbours are not tried


def parted(n: int, held: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Return disjoint parts of all rows: those held out, and the rest if there is one.

    Parameters
    ----------
    n : int
        The number of rows.
    held : list of arrays of int
        The rows held out.
    """
    rest = np.setdiff1d(np.arange(n), np.concatenate(held))
    return [*held, rest] if rest.size else held


@dataclass(frozen=True, eq=False)
class Side:
    r"""One side of a sample in the features of one kernel, in parts.

    Attributes
    ----------
    low : LowRank
        The factor of the kernel matrix.
    parts : list of arrays of int
        Disjoint parts of the rows.
    weights : array of shape (n,), optional
        The weights of the rows.
    centred : bool
        Whether bases are.
    factor : float
        The multiple of the scales of the kernel.
    group : int
        How many of the parts are all rows; there may be several such partitions.
    executor : Executor
        How parts are worked on.
    """

    low: LowRank
    parts: list[NDArray[np.intp]]
    weights: Vector | None
    centred: bool
    factor: float
    group: int
    executor: Executor
    kept: dict[Hashable, Any] = field(default_factory=dict)

    @cached_property
    def f(self) -> list[Array]:
        r"""The functions :math:`(1, \phi)` of each part, as rows."""

        def of(part: NDArray[np.intp]) -> Array:
            phi = self.low.map.features(self.low.rows.take(part))
            xp = array_namespace(phi)
            return xp.concat([xp.ones_like(phi[:, :1]), phi], axis=1)

        return list(self.executor.each(of, self.parts))

    @cached_property
    def weighted(self) -> list[Array]:
        """The same, times the weights of the rows."""
        if self.weights is None:
            return self.f
        parts = zip(self.f, self.parts, strict=True)
        return [like(self.weights[part], f)[:, None] * f for f, part in parts]

    @cached_property
    def grams(self) -> list[Array]:
        r"""The sums :math:`\sum w (1, \phi)^\top (1, \phi)` over each part."""
        return [a.T @ b for a, b in zip(self.f, self.weighted, strict=True)]

    @cached_property
    def powers(self) -> list[Array]:
        r"""The sums :math:`\sum w (1, \phi)^\top p` over each part; see ``Moments``."""
        origin, rows = self.low.map.origin, self.low.rows
        values = (powers(origin, rows.take(part)) for part in self.parts)
        return [f.T @ p.T for f, p in zip(self.weighted, values, strict=True)]

    @cached_property
    def traces(self) -> list[float]:
        """The traces of the kernel matrix over each part."""
        rows, kernel = self.low.rows, self.low.map.kernel
        diagonals = (kernel_diagonal(kernel, rows.take(part)) for part in self.parts)
        ones = (f[:, 0] for f in self.weighted)
        return [float(w @ k) for w, k in zip(ones, diagonals, strict=True)]

    def without(self, part: int) -> Array:
        """Return the Gram matrix of all rows less those of a part."""
        return self.remember(("gram", part), lambda: self.sum_without(self.grams, part))

    def basis(self, part: int) -> Basis:
        """Return the basis of all rows less those of a part."""

        def make() -> Basis:
            G = self.without(part)
            return side_basis(
                self.low, float(G[0, 0]), G[0, 1:], G[1:, 1:], centred=self.centred
            )

        return self.remember(("basis", part), make)

    def psi(self, part: int) -> Vector:
        r"""Return :math:`\Psi` at the rows of a part, in the basis of the others."""

        def make() -> Vector:
            basis = self.basis(part)
            found: Vector = to_numpy((self.f[part][:, 1:] - basis.mean) @ basis.rotation)
            return found

        return self.remember(("psi", part), make)

    def sum_without(self, sums: list[Any], part: int) -> Any:
        """Return the sum over all rows but those of a part.

        Parameters
        ----------
        sums : list
            Sums over each part.
        part : int
            Which is left out.
        """
        return sum_without(sums, part, self.group)

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made before under a key, or make it.

        Parameters
        ----------
        key : hashable
            The key.
        make : callable
            How it is made.
        """
        if key not in self.kept:
            self.kept[key] = make()
        found: T = self.kept[key]
        return found


def paired_moments(x: Side, y: Side, part: int) -> Moments:
    """Return the moments of all rows less those of a part.

    Parameters
    ----------
    x, y : Side
        The sides.
    part : int
        Which part is left out.
    """
    key = "cross", y.low.map.key
    crosses = x.remember(
        key, lambda: [b.T @ a for a, b in zip(x.weighted, y.f, strict=True)]
    )
    G_x, G_y, cross = x.without(part), y.without(part), x.sum_without(crosses, part)
    xp = array_namespace(G_x)
    m_x, m_y = x.low.rank, y.low.rank
    gram = xp.concat(
        [
            xp.concat([G_x, cross[1:, :].T], axis=1),
            xp.concat([cross[1:, :], G_y[1:, 1:]], axis=1),
        ]
    )
    count = x.sum_without([len(own) for own in x.parts], part)
    trace_x, trace_y = (side.sum_without(side.traces, part) for side in (x, y))
    keys = x.low.map.key, y.low.map.key
    third = y.sum_without(y.powers, part)
    return Moments(count, gram, trace_x, trace_y, m_x, m_y, keys, third)


def sum_without(sums: list[Any], part: int, group: int) -> Any:
    """Return the sum over all rows but those of a part.

    The other parts are added up: a heavy part that is taken off leaves its rounding behind.

    Parameters
    ----------
    sums : list
        Sums over each part.
    part : int
        Which is left out.
    group : int
        How many of the parts are all rows.
    """
    start = part // group * group
    own = [i for i in range(start, start + group) if i != part]
    return sum((sums[i] for i in own[1:]), sums[own[0]])


class Contest:
    """Candidates, and how they fare on rows held out.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    how : Selection
        On which rows, by what, and among what.
    sample : Sample
        All rows.
    seed : int
        Decides on the rows.
    tell : callable
        Where progress goes.
    executor : Executor, optional
        How parts are worked on.
    summed : bool, default=False
        Whether ridges are added to a sum over the rows, and serve any number of them;
        otherwise to a mean.
    repeated : bool, default=True
        Whether weights tell how often a row was seen; those of classes don't.

    Attributes
    ----------
    sample : Sample
        The rows that take part.
    parts : list of arrays of int
        Parts of them; few rows are parted several times.
    group : int
        How many of the parts are all rows.
    folds : int
        How many of the parts are held out in turn; none if all rows are equal.
    """

    def __init__(
        self,
        where: str,
        how: Selection,
        sample: Sample,
        seed: int,
        tell: Tell,
        *,
        executor: Executor | None = None,
        summed: bool = False,
        repeated: bool = True,
    ) -> None:
        self.where, self.how, self.tell = where, how, tell
        self.risk = risk_of(where, how.criterion)
        self.executor = Executor() if executor is None else executor
        few = sample.choose(how.rows, seed)
        self.sample = settled(sample.take(few), how.rows, repeated=repeated)
        n = self.sample.n
        held = held_out(n, how.cv, seed) if self.sample.varied else []
        self.parts = parted(n, held) if held else [np.arange(n)]
        self.folds, self.group = len(held), len(self.parts)
        if self.folds > 1 and not summed:
            for again in range(1, min(_REPEATS, _FEW // n)):
                self.parts += held_out(n, how.cv, seed + again)
            self.folds = len(self.parts)
        left = 1 - sum(map(len, held)) / (n * max(len(held), 1))
        # of the rows that candidates are fitted to: their number, and their share of all
        self.size = 1.0 if summed else left * self.sample.effective_size
        self._share = 1.0 if summed else left * self.sample.size / sample.size
        self.candidates: list[Candidate] = []
        self._paths: list[Vector] = []
        self._start = perf_counter()

    def train(self, part: int) -> Sample:
        """Return the rows that are not held out with a part."""
        return self.sample.take(np.setdiff1d(np.arange(self.sample.n), self.parts[part]))

    def held(self, part: int) -> Sample:
        """Return the rows of a part."""
        return self.sample.take(self.parts[part])

    def ridges(self, regularization: float | str, unit: float) -> Vector:
        """Return the ridges that are tried on these rows, the largest first.

        Parameters
        ----------
        regularization : float or "auto"
            The ridge of the fit to all rows, if it is given.
        unit : float
            That of the strengths, the ridges times the number of rows.
        """
        given = self.how.regularizations
        if not isinstance(regularization, str):
            given = (regularization,)
        if given is None:
            return _STRENGTHS * unit / self.size
        return np.sort(np.asarray(given, dtype=np.float64))[::-1] / self._share

    def enter(
        self, trial: Callable[[int], Trial], ridges: Vector, **told: Any
    ) -> Candidate:
        """Judge a candidate for all ridges.

        Parameters
        ----------
        trial : callable
            Makes a model of all parts but one.
        ridges : array of shape (l,)
            The ridges.
        **told
            What the candidate is.
        """
        start = perf_counter()

        def judged(part: int) -> Vector:
            return self.risk.path(trial(part), ridges)

        folds = range(self.folds)
        ours = self.executor.each(judged, folds) if self.risk.ours else map(judged, folds)
        return self.record(np.array(list(ours)), ridges, start, self._held, **told)

    @cached_property
    def _held(self) -> Vector:
        """The weights of the rows of each part that is held out."""
        parts = self.parts[: self.folds]
        return np.array([self.sample.take(part).size for part in parts])

    def record(
        self,
        paths: Vector,
        ridges: Vector,
        start: float,
        weights: Vector | None = None,
        **told: Any,
    ) -> Candidate:
        """Keep a candidate.

        Parameters
        ----------
        paths : array of shape (folds, l)
            Its criterion for each part held out and each ridge.
        ridges : array of shape (l,)
            The ridges.
        start : float
            When it was begun.
        weights : array of shape (folds,), optional
            The weights of the parts.
        **told
            What it is.
        """
        folds = len(paths)
        with np.errstate(invalid="ignore"):  # infinite scores
            scores = np.average(paths, axis=0, weights=weights)
            spread = paths.std(axis=0, ddof=1) if folds > 1 else np.nan * scores
        candidate = Candidate(
            ridges * self._share,
            scores,
            spread / np.sqrt(folds),
            seconds=perf_counter() - start,
            **told,
        )
        self.candidates.append(candidate)
        self._paths.append(paths)
        tried, best = len(self.candidates), min(c.score for c in self.candidates)
        self.tell(tried / (tried + 8), f"{tried} tried, best {best:.4g}")
        return candidate

    def result(self) -> Selected:
        """Return what was tried, with what is chosen.

        A scale for each column is taken if it is clearly better than a common one. Of what
        is nearly as good as the best, the lowest degree, and then the largest ridge: where
        there are no rows, laws of a tiny ridge are wild.
        """
        scores = np.array([candidate.score for candidate in self.candidates])
        rule = "a number for one candidate at least"
        got = Words("none that is finite, whatever the kernels and the ridge")
        require(np.isfinite(scores.min()), self.where, "criterion", rule, got)
        common = np.array([c.scales != "each" for c in self.candidates])
        best = int(np.where(common, scores, np.inf).argmin())
        if scores[best] > scores.min() + _CLEARLY * abs(scores.min()):
            common[:], best = True, int(scores.argmin())
        near = [
            (candidate.degree or 0, -candidate.regularizations[ridge], number, ridge)
            for number, candidate in enumerate(self.candidates)
            if common[number]
            for ridge in np.flatnonzero(self._nearly(number, best)).tolist()
        ]
        *_, number, ridge = min(near)
        seconds = perf_counter() - self._start
        found = self.candidates, number, ridge, self.risk.name
        return Selected(*found, self.sample.n, self.folds, seconds)

    def _nearly(self, number: int, best: int) -> NDArray[np.bool_]:
        """Tell for which ridges a candidate is nearly as good as the best one.

        That is by less than the standard error of the difference over the parts, but 1 %
        in any case and 2.5 % at most.
        """
        score = self.candidates[best].score
        first = self._paths[best][:, int(np.nanargmin(self.candidates[best].scores))]
        with np.errstate(invalid="ignore"):  # infinite scores
            worse = self._paths[number] - first[:, None]
            spread = (
                worse.std(axis=0, ddof=1) if len(first) > 1 else np.zeros(worse.shape[1])
            )
            error = spread / np.sqrt(len(first))
            least, most = (share * abs(score) for share in _NEARLY)
            allowed = np.clip(np.nan_to_num(error), least, most)
            return np.asarray(self.candidates[number].scores - score <= allowed)


class Climb:
    """A way down the scores on the lattice of scales.

    Along Y first, as its features are few; then along X, each time with the neighbours
    along Y; until nothing is better.

    Parameters
    ----------
    enter : callable
        From the powers of two of both scales to a score.
    families : tuple of Family
        The kernels of X and of Y.
    """

    def __init__(
        self, enter: Callable[[int, int], float], families: tuple[Family, Family]
    ) -> None:
        self._enter, self._families = enter, families
        self._seen: dict[tuple[int, int], float] = {}

    def down(self, i: int, j: int) -> tuple[int, int]:
        """Return the lowest point that is reached.

        Parameters
        ----------
        i, j : int
            The powers to begin with, for X and for Y.
        """
        j = self._along(i, j)
        for step in (-1, 1):
            first = i
            while True:
                new = i + step, self._beside(i + step, j, self._score(i, j))
                if not self._better(new, (i, j)):
                    break
                i, j = new[0], self._along(*new)
            if i != first:
                break
        return i, j

    def _along(self, i: int, j: int) -> int:
        """Go down along Y."""
        for step in (-1, 1):
            first = j
            while self._better((i, j + step), (i, j)):
                j += step
            if j != first:
                break
        return j

    def _beside(self, i: int, j: int, best: float) -> int:
        """Return the best of three along Y, if there is hope that it is better."""
        if self._score(i, j) > best + _HOPELESS * abs(best):
            return j
        return min((j, j - 1, j + 1), key=lambda k: self._score(i, k))

    def _better(self, new: tuple[int, int], old: tuple[int, int]) -> bool:
        a, b = self._score(*new), self._score(*old)
        return a < b - _BETTER * abs(b) if np.isfinite(b) else a < b

    def _score(self, i: int, j: int) -> float:
        if not (self._inside(0, i) and self._inside(1, j)):
            return np.inf
        if (i, j) not in self._seen:
            self._seen[i, j] = self._enter(i, j)
        return self._seen[i, j]

    def _inside(self, side: int, power: int) -> bool:
        return power in _LATTICE if self._families[side].free else power == 0
