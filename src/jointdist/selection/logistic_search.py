"""The kernel and the ridge of logistic regression, chosen on rows held out.

No sum over the rows stands for all of them here, from which those held out could be
subtracted. So there is a fit without each part; it starts from that of the last ridge.
"""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.data.sample import Sample
from jointdist.errors import Text, require
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.logistic import LogisticSolution, logistic
from jointdist.selection.config import Candidate
from jointdist.selection.families import families
from jointdist.selection.kernel_search import Factoring
from jointdist.selection.search import CrossValidation, descend

__all__ = ["LogisticContest", "loss_of", "probabilities", "thinned"]

Codes: TypeAlias = NDArray[np.intp]
Loss: TypeAlias = Callable[[Vector, Codes], ArrayLike]

_RIDGES = 10.0 ** np.arange(1, -3.1, -0.5)  # for a kernel of unit diagonal
_WORSE = 3  # ridges in a row that are worse, after which smaller ones are not tried
_RANK = 256  # of the factor of a candidate, at most
_GAP = 1e-4  # of the fits of candidates
_LEAST = 1e-12  # of probabilities, Eq. `eq:logisticloss`


class _Side(NamedTuple):
    """Rows in the features of a kernel."""

    F: Vector
    blocks: Blocks
    unit: float  # the mean diagonal


class LogisticContest:
    """Kernels and ridges, and how they fare.

    For each kernel one factor serves all fits, in which rows held out have no weight. Those
    whose class has no others are never held out, so that all fits know all classes.

    Parameters
    ----------
    contest : CrossValidation
        The rows, whose Y is the number of their class, and the ridges.
    factoring : Factoring
        How kernel matrices are factored.
    loss : callable
        From probabilities and classes to a number, or one for each row.
    intercept : bool
        Whether there is one.

    Attributes
    ----------
    held : list of arrays of int
        The rows that are held out of each fit; empty if none can be.
    """

    def __init__(
        self, contest: CrossValidation, factoring: Factoring, loss: Loss, *, intercept: bool
    ) -> None:
        self.contest, self.factoring, self.loss = contest, factoring, loss
        self.intercept, self.sample = intercept, contest.sample
        n, weights = self.sample.n, self.sample.weights
        self.weights = np.ones(n) if weights is None else weights
        self.codes = _codes(self.sample)
        self.sizes = np.bincount(self.codes)
        parts = map(self._judges, contest.parts[: contest.folds])
        self.held = [part for part in parts if len(part)]

    def run(self, x: Family) -> None:
        """Try kernels of a family, and of one with a scale for each column.

        Parameters
        ----------
        x : Family
            The kernels.
        """

        def indicators() -> Vector:
            return np.eye(len(self.sizes))[self.codes]

        with one_blas_thread:  # the matrices are small
            for family, own in families(x, self.contest, self.held, indicators):
                self._climb(family, own)

    @property
    def _per_row(self) -> float:
        """What a row counts for: one if weights are whole, and tell how often it was seen."""
        if (self.weights == self.weights.round()).all():
            return 1.0
        return float(self.sample.size / self.sample.effective_size)

    def _judges(self, part: Codes) -> Codes:
        """Return the rows of a part whose class has others elsewhere."""
        own = self.codes[part]
        known = self.sizes > np.bincount(own, minlength=len(self.sizes))
        return part[known[own]]

    def _climb(self, x: Family, own: list[Family]) -> None:
        """Go down along the scales, in the family of each fit."""

        def enter(i: int, _: int) -> float:
            return self._enter(x, own, 2.0**i).score

        descend(enter, (0, 0), (x.free, False))

    def _enter(self, x: Family, own: list[Family], factor: float) -> Candidate:
        """Judge a kernel with all ridges."""
        start = perf_counter()
        found = {family: self._side(family.at(factor)) for family in dict.fromkeys(own)}
        sides = [found[family] for family in own]
        flat = max(factor, 1.0) ** 2  # the functions of wide kernels vary little
        risks, ridges = self._path(sides, flat)
        return self.contest.record(
            risks,
            ridges,
            start,
            kernel_x=x.at(factor),
            factor_x=factor,
            scales=x.name,
            rank_x=max(side.blocks.m for side in sides),
            rank_y=len(self.sizes),
        )

    def _side(self, kernel: Kernel) -> _Side:
        sample, how = self.sample, self.factoring
        low = how.factored("kernel_x", kernel, sample.x, sample.weights, _RANK)
        F: Vector = to_numpy(low.factor)
        one = Executor(workers=1)
        blocks = Blocks(sample.n, low.rank, lambda rows: F[rows], self.intercept, one)
        return _Side(F, blocks, low.trace / float(self.weights.sum()) or 1.0)

    def _path(self, sides: list[_Side], flat: float) -> tuple[Vector, Vector]:
        """Return the criterion for each part and ridge, from the largest down; and these."""
        given = self.contest.how.regularizations
        unit = sides[0].unit / flat * self._per_row
        ridges = np.sort(_RIDGES * unit if given is None else given)[::-1]
        fits: list[LogisticSolution] = []
        risks: list[list[float]] = []
        for ridge in ridges.tolist():
            fits = self._fits(sides, ridge, fits)
            folds = zip(sides, self.held, fits, strict=True)
            risks.append([self._risk(x.F[held], held, fit) for x, held, fit in folds])
            means = np.nan_to_num(np.mean(risks, axis=1), nan=np.inf)
            worse = len(risks) - 1 - int(means.argmin())
            if given is None and worse >= _WORSE:
                break
        return np.array(risks).T, ridges[: len(risks)]

    def _fits(
        self, sides: list[_Side], ridge: float, starts: list[LogisticSolution]
    ) -> list[LogisticSolution]:
        """Return the fits without each part, which start from those of another ridge."""

        def fit(fold: int) -> LogisticSolution:
            weights = self.weights.copy()
            weights[self.held[fold]] = 0.0
            return logistic(
                sides[fold].blocks,
                self.codes,
                ridge,
                classes=len(self.sizes),
                weights=weights,
                tol=_GAP,
                precision="float32",
                start=starts[fold] if starts else None,
            )

        return list(self.contest.executor.each(fit, range(len(self.held))))

    def _risk(self, F: Vector, held: Codes, fit: LogisticSolution) -> float:
        """Return the mean loss of rows held out."""
        p = probabilities(F @ fit.value.T + fit.intercept)
        losses = np.asarray(self.loss(p, self.codes[held]))
        weights = self.weights[held] if losses.ndim else None
        return float(np.average(losses, weights=weights))


def probabilities(f: Vector) -> Vector:
    """Return the probabilities of all classes, of shape (q, K).

    Parameters
    ----------
    f : array of shape (q, 1) or (q, K)
        The scores: for two classes those of the second.
    """
    two = f.shape[1] == 1
    p: Vector = expit(np.hstack([-f, f])) if two else softmax(f, axis=1)
    return p


def thinned(where: str, sample: Sample, most: int, seed: int) -> Sample:
    """Return at most so many rows: half by the shares of the classes, and half all alike.

    Weights make up for it. Their common factor is such that the slopes of the losses vary
    as much as their curvature says, as they do without weights: so ridges mean the same.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    sample : Sample
        All rows; Y is the number of their class.
    most : int
        How many there may be.
    seed : int
        Decides on them.
    """
    rows = sample.choose(sample.n, seed)
    if len(rows) <= most:
        return sample
    codes = _codes(sample)[rows]
    there = np.bincount(codes)
    n, K = len(rows), len(there)
    rule = f"None, or of `rows` of at least {2 * K}, twice the number of classes"
    require(most >= 2 * K, where, "selection", rule, Text(f"`rows` of {most}"))
    taken = np.minimum(there, most // (2 * K) + most * there // (2 * n))
    order = np.random.default_rng(seed).permutation(n)
    few = [order[codes[order] == k][:m] for k, m in enumerate(taken.tolist())]
    chosen = np.sort(np.concatenate(few))
    share, stands = there / n, there / taken
    slopes = 1 - 2 * share + share @ share  # squared, where nothing is known of the rows
    stands *= (there @ slopes) / (there * stands @ slopes)
    small = sample.take(rows[chosen])
    own = np.ones(small.n) if small.weights is None else small.weights
    return replace(small, weights=own * stands[codes[chosen]])


def loss_of(where: str, criterion: object, classes: NDArray[Any]) -> Loss:
    """Return the loss that a criterion stands for, of probabilities and numbers of classes.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    criterion : str or callable
        A name, or a function of probabilities and labels.
    classes : array of shape (K,)
        The labels.
    """
    if callable(criterion):
        return lambda p, y: _checked(where, criterion(p, classes[y]), len(y))
    losses: dict[object, Loss] = {
        "log_score": _log_loss,
        "energy": _half_brier,
        "energy_score": _half_brier,
    }
    rule = f"of a criterion among {list(losses)}, or a function of probabilities and labels"
    require(criterion in losses, where, "selection", rule, criterion)
    return losses[criterion]


def _codes(sample: Sample) -> Codes:
    """Return the classes of the rows."""
    codes: Codes = to_numpy(sample.y.read(0, sample.n))[:, 0].astype(np.intp)
    return codes


def _log_loss(p: Vector, y: Codes) -> Vector:
    """Return the log losses, clipped as in Eq. `eq:logisticloss`."""
    losses: Vector = -np.log(np.maximum(p[np.arange(len(y)), y], _LEAST))
    return losses


def _half_brier(p: Vector, y: Codes) -> Vector:
    """Return the energy scores of labels, which are half the Brier scores."""
    scores: Vector = (1 + np.sum(p * p, axis=1)) / 2 - p[np.arange(len(y)), y]
    return scores


def _checked(where: str, losses: object, q: int) -> NDArray[Any]:
    found = np.asarray(losses)
    good = found.dtype.kind in "fiub" and found.shape in ((), (q,))
    rule = f"a function that returns a number, or one for each of {q} rows"
    require(good, where, "criterion", rule, Text(f"{found.dtype} of shape {found.shape}"))
    return found
