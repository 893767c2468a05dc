"""Candidates for kernel and ridge of logistic regression, with losses on held-out rows.

Logistic losses have no moments from which those of held-out rows could be subtracted. So each
fold has a separate fit, which starts from that of the last ridge.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.reduction import Factoring
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.logistic import LogisticSolution, logistic
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.length_scales import descend, families
from jointdist.selection.logistic_loss import Loss, probabilities
from jointdist.selection.specification import Candidate
from jointdist.selection.stratified import class_codes

__all__ = ["LogisticCandidates"]

# The ridges that are tried for a kernel of unit diagonal, from nearly constant probabilities
# to weakly penalised ones, in half decades.
_RIDGES = 10.0 ** np.arange(1, -3.1, -0.5)
# Ridges in a row that are worse, after which smaller ones, the most costly, are not tried.
_WORSE = 3
# The largest rank of the factor of a candidate: Newton's method costs its cube.
_RANK = 256
# The duality gap at which fits of candidates stop, far below differences of their losses.
_GAP = 1e-4


class _Side(NamedTuple):
    """The features of a kernel at all rows."""

    F: Vector
    blocks: Blocks
    unit: float  # the mean diagonal


class LogisticCandidates:
    """The candidates, kernels and ridges, with their losses on held-out rows.

    For each kernel one factor serves all fits, in which held-out rows have no weight. The
    only row of a class is never held out, so that all fits know all classes.

    Parameters
    ----------
    validation : CrossValidation
        The rows, with the codes of their classes as Y, and the folds.
    factoring : Factoring
        How kernel matrices are factored.
    loss : callable
        From probabilities and codes of classes to a number, or one for each row.
    intercept : bool
        Whether there is an intercept.

    Attributes
    ----------
    fits, held : list of arrays of int
        The indices of the rows that each fit has, and of those that are held out of it; empty
        if none can be.
    """

    def __init__(
        self,
        validation: CrossValidation,
        factoring: Factoring,
        loss: Loss,
        *,
        intercept: bool,
    ) -> None:
        self.validation, self.factoring, self.loss = validation, factoring, loss
        self.intercept, self.sample = intercept, validation.sample
        n, weights = self.sample.n, self.sample.weights
        self.weights = np.ones(n) if weights is None else weights
        self.codes = class_codes(self.sample)
        self.sizes = np.bincount(self.codes)
        pairs = [self._scored(fold) for fold in range(validation.folds)]
        self.fits = [fit for fit, out in pairs if len(out)]
        self.held = [out for _, out in pairs if len(out)]

    def run(self, x: Family) -> None:
        """Try the kernels of a family, and those with a length scale for each column.

        Parameters
        ----------
        x : Family
            The kernels.
        """

        def indicators() -> Vector:
            return np.eye(len(self.sizes))[self.codes]

        with one_blas_thread() as one, one:  # the matrices are small
            for family, of_folds in families(x, self.validation, self.fits, indicators):
                self._descend(family, of_folds)

    @property
    def _per_row(self) -> float:
        """The number of rows over the effective one; one if weights are whole, as counts."""
        if (self.weights == self.weights.round()).all():
            return 1.0
        return float(self.sample.size / self.sample.effective_size)

    def _scored(self, fold: int) -> tuple[Index, Index]:
        """Return the rows of a fit, and those held out whose classes it has.

        The others are added to the fit.
        """
        partition = self.validation.partition
        fit, part = partition.fitted(fold), partition.held(fold)
        known = np.bincount(self.codes[fit], minlength=len(self.sizes)) > 0
        scored = known[self.codes[part]]
        return np.sort(np.concatenate([fit, part[~scored]])), part[scored]

    def _descend(self, x: Family, of_folds: list[Family]) -> None:
        """Search for the best multiple of the length scales, in the family of each fit."""

        def enter(i: int, _: int) -> float:
            return self._enter(x, of_folds, 2.0**i).score

        descend(enter, (0, 0), (x.free, False))

    def _enter(self, x: Family, of_folds: list[Family], factor: float) -> Candidate:
        """Record the losses of a kernel with all ridges."""
        start = perf_counter()
        found = {
            family: self._side(family.at(factor)) for family in dict.fromkeys(of_folds)
        }
        sides = [found[family] for family in of_folds]
        flat = max(factor, 1.0) ** 2  # the functions of wide kernels vary little
        risks, ridges = self._path(sides, flat)
        return self.validation.record(
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
        """Return the losses of all folds and ridges, and the ridges from the largest down."""
        given = self.validation.how.regularizations
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
        """Return the fits without each fold, which start from those of another ridge."""

        def fit(fold: int) -> LogisticSolution:
            weights = np.zeros_like(self.weights)
            weights[self.fits[fold]] = self.weights[self.fits[fold]]
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

        return list(self.validation.executor.each(fit, range(len(self.held))))

    def _risk(self, F: Vector, held: Index, fit: LogisticSolution) -> float:
        """Return the mean loss of held-out rows."""
        p = probabilities(F @ fit.value.T + fit.intercept)
        losses = np.asarray(self.loss(p, self.codes[held]))
        weights = self.weights[held] if losses.ndim else None
        return float(np.average(losses, weights=weights))
