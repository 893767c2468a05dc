"""What a fitted model keeps of its sample: the rows, or the sums of a compressed support.

Up to ``support_size`` rows the support points are the rows. Beyond, they are the means of bins
of one column, or sampled rows in the leaves of a partition of several, and a model keeps the
sums from which they are made.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Vector, like, to_numpy
from jointdist._cached import Cached, cached
from jointdist._rules import Text, refusal, require
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows, moved
from jointdist.data.updates import joined, without
from jointdist.distributions.seen import Seen, joined_range, learn_seen, range_of
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.bottom_k import BottomK
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.support_proposal import FramePlan, propose_frame
from jointdist.lowrank.support_sums import SupportFrame, SupportSums, sampled_pairs
from jointdist.models._arguments import PairedData
from jointdist.models.compressed_points import compressed_points
from jointdist.models.direction import Typical
from jointdist.models.event_rows import WeightedRows
from jointdist.projection.settings import SETTINGS

__all__ = ["KeptSample", "support_plan"]

_SMALL = 8192  # rows up to which all are sorted to find those that represent them


@dataclass(frozen=True, eq=False)
class KeptSample(Cached):
    """The sample of a fitted model, owned by it.

    Attributes
    ----------
    encodings : tuple of Encoding
        The columns of X and Y.
    where : str
        The estimator, for messages.
    support_size : int
        The largest number of rows that are kept.
    seed : int
        The seed of the fit.
    rows : Sample, optional
        All rows, paired, with their weights; while they are few enough.
    sums : SupportSums, optional
        The sums of the support; beyond.
    frame : SupportFrame, optional
        Where these are collected; None before the first update of rows that are kept.
    ends : array of shape (2, d_x), optional
        The range of the columns of X, where rows are not kept.
    made : Design, optional
        What became of the columns of X, if it is not plain.
    dependent : bool, optional
        Whether rows depend on each other, so that they are not left out one by one.
    """

    encodings: tuple[Encoding, Encoding]
    where: str
    support_size: int
    seed: int
    rows: Sample | None = None
    sums: SupportSums | None = None
    frame: SupportFrame | None = None
    ends: Vector | None = None
    made: Design | None = None
    dependent: bool | None = None

    @property
    def design(self) -> Design:
        """What became of the columns of X."""
        return Design.plain(self.encodings[0]) if self.made is None else self.made

    @staticmethod
    def of(
        data: PairedData,
        support_size: int,
        sums: SupportSums | None = None,
        *,
        dependent: bool | None = None,
    ) -> "KeptSample":
        """Return what is kept of the rows of a fit.

        Parameters
        ----------
        data : PairedData
            The rows of the fit.
        support_size : int
            The largest number of rows that are kept.
        sums : SupportSums, optional
            The sums of the support, if there are more rows.
        dependent : bool, optional
            Whether rows depend on each other, though nothing is known of their folds.
        """
        rows = data.sample.owned() if sums is None else None
        frame = None if sums is None else sums.frame
        where = data.sample.x.where
        common = data.encodings, where, support_size, data.seed
        ends = None
        if sums is not None:
            ends = range_of(data.sample.x, data.sample.weights)
        dependent = dependent or data.sample.folds is not None
        return KeptSample(*common, rows, sums, frame, ends, data.made, dependent)

    @cached
    def pairs(self) -> Sample:
        """Paired rows: all of them, or a sample of them."""
        if self.rows is not None:
            return self.rows
        assert self.sums is not None  # noqa: S101  # for type checkers
        return self._sampled(self.sums.pairs)

    @cached
    def few_pairs(self) -> Sample:
        """Paired rows by which ridges are judged: all up to 8,192, else a sample of 4,096.

        The sample is chosen by the values of the rows, so that neither their order matters
        nor whether they are kept.
        """
        if self.rows is None or self.rows.n <= _SMALL:
            return self.pairs
        z = np.concatenate([self.rows.x.table(), self.rows.y.table()], axis=1)
        return self._sampled(sampled_pairs(z, self.rows.weights, self.seed))

    @property
    def donors(self) -> WeightedRows:
        """Some rows of X, with weights: all up to 8,192, else a sample of 4,096."""
        sample = self.few_pairs
        return WeightedRows(sample.x, sample.row_weights).positive()

    def _sampled(self, found: BottomK) -> Sample:
        """Return sampled pairs of positive weight as paired rows."""
        d, used = self.encodings[0].width, found.weights > 0
        tables = found.points[used, :d], found.points[used, d:]
        x, y = (
            Rows(np.ascontiguousarray(table), self.where, name)
            for table, name in zip(tables, "XY", strict=True)
        )
        categorical = self.design.shown.all_categorical
        return Sample(x, y, found.weights[used], categorical)

    @property
    def all_rows(self) -> Sample:
        """All rows, for what cannot do without; refused if they are not kept."""
        rule = "of at most `support_size` rows"
        got = Text("more, of which rows are not kept")
        require(self.rows is not None, self.where, "X", rule, got)
        assert self.rows is not None  # noqa: S101  # for type checkers
        return self.rows

    @property
    def n(self) -> int:
        """The number of rows."""
        if self.rows is not None:
            return self.rows.n
        return 0 if self.sums is None else self.sums.count

    @property
    def size(self) -> float:
        """The weight of all rows."""
        if self.rows is not None:
            return self.rows.size
        return 0.0 if self.sums is None else float(self.sums.y.weight.sum())

    def points_x(self, executor: Executor) -> SupportPoints:
        """Return the support points of X."""
        return self._points(0, executor)

    def points_y(self, executor: Executor) -> SupportPoints:
        """Return the support points of Y."""
        return self._points(1, executor)

    def _points(self, side: int, executor: Executor) -> SupportPoints:
        if side not in self._made:
            encoding, sums = self.encodings[side], self.sums
            if self.rows is None and sums is not None:
                each, named = (sums.x, sums.y)[side], (self.where, "XY"[side])
                made = compressed_points(each, encoding, named, executor)
            else:
                sample = self.pairs
                rows = (sample.x, sample.y)[side]
                made = SupportPoints(rows, encoding, sample.weights, executor)
            self._made[side] = made
        return self._made[side]

    @cached
    def _made(self) -> dict[int, SupportPoints]:
        """The support points that were made, by side: they are the same each time."""
        return {}

    def typical(self, executor: Executor) -> tuple[Typical, Typical]:
        """Return some rows that represent the sample: for Y given X, and for X given Y."""
        sample = self.few_pairs
        found = sample.representatives(SETTINGS.tuning_rows)
        x, y = (to_numpy(side.take(found.rows)) for side in (sample.x, sample.y))
        few_x, few_y = self.few_points(executor)
        w = found.weights, found.own
        return Typical(y, x, *w, few_y), Typical(x, y, *w, few_x)

    def few_points(
        self, executor: Executor
    ) -> tuple[SupportPoints | None, SupportPoints | None]:
        """Return fewer points of X and Y, on which projections are compared; or none."""
        sample = self.few_pairs
        if sample is self.rows:
            return None, None
        sides = zip((sample.x, sample.y), self.encodings, strict=True)
        x, y = (SupportPoints(*side, sample.weights, executor) for side in sides)
        return x, y

    @property
    def range_x(self) -> Vector | None:
        """The range of the columns of X, ``(2, d_x)``; None in files of older versions."""
        if self.rows is None:
            return self.ends
        return range_of(self.rows.x, self.rows.weights)

    def seen(self, features: Features, novelty: Callable[[Rows], Vector]) -> Seen | None:
        """Return the range and the novelty of the rows of X.

        Parameters
        ----------
        features : Features
            The features of X.
        novelty : callable
            From rows of X to their novelty.
        """
        x = self.donors.rows
        ends = None if self.range_x is None else self.design.judged(self.range_x)
        return learn_seen(ends, self.n, moved(x, features.core), features, novelty)

    def framed(self, maps: tuple[Features, Features]) -> "KeptSample":
        """Return the sample with its frame, proposed from the rows if there is none yet.

        Rows that come later are summed in this frame once they are too many to be kept, so
        that it is proposed before the first update.

        Parameters
        ----------
        maps : tuple of Features
            The features of X and Y.
        """
        if self.frame is not None or self.rows is None:
            return self
        rows, plan = self.rows, self.plan
        frame = propose_frame(plan, maps, rows.x, rows.y, rows.weights)
        return replace(self, frame=frame)

    def in_features(
        self, old: tuple[Features, Features], new: tuple[Features, Features]
    ) -> "KeptSample":
        """Return the sample with sums of other features, linear in the same columns.

        Parameters
        ----------
        old, new : tuple of Features
            The features of X and Y whose sums these are, and the others.
        """
        same = all(a.key == b.key for a, b in zip(old, new, strict=True))
        if self.sums is None or same:
            return self

        def solve(before: Features, after: Features) -> Callable[[Vector], Vector]:
            core = to_numpy(before.core)
            return lambda columns: to_numpy(after.solve(like(core @ columns, after.core)))

        x, y = (solve(*pair) for pair in zip(old, new, strict=True))
        return replace(self, sums=self.sums.solved(x, y))

    @property
    def plan(self) -> FramePlan:
        """How the frame of the support is chosen."""
        return frame_plan(self.encodings, self.seed)

    def exceeded(self, n: int) -> bool:
        """Tell whether rows are not kept any more, once there are n."""
        return self.rows is None or n > self.support_size

    def combined(
        self, new: "Sample | None", own: SupportSums | None, part: SupportSums | None
    ) -> "KeptSample":
        """Return the sample with more rows.

        Parameters
        ----------
        new : Sample, optional
            The rows, where all rows are kept.
        own, part : SupportSums, optional
            The sums of the support of the rows before, and of the new ones; else.
        """
        if own is not None and part is not None:
            ends = self.range_x
            if new is not None:
                ends = joined_range(ends, range_of(new.x, new.weights))
            sums = own.combine(part).compact()
            return replace(self, rows=None, sums=sums, ends=ends)
        assert new is not None  # noqa: S101  # for type checkers
        return replace(self, rows=joined(self.all_rows, new).owned())

    def removed(self, old: Sample, part: SupportSums | None, where: str) -> "KeptSample":
        """Return the sample without some rows, each of which must be there.

        Parameters
        ----------
        old : Sample
            The rows.
        part : SupportSums, optional
            The sums of their support, where rows are not kept.
        where : str
            The method that users call, for messages.
        """
        if self.sums is None or part is None:
            return replace(self, rows=without(self.all_rows, old).owned())
        rule = "rows that the model was fitted to, with their weights"
        try:
            left = self.sums.without(part)
        except ValueError as error:
            got = Text("rows that are not, or not so often")
            raise ValueError(refusal(where, "X, Y", rule, got)) from error
        some = left.count > 0 and float(left.y.weight.sum()) > 0
        require(some, where, "X, Y", "not all rows of the model", Text("all of them"))
        got = Text(
            "so many that no pair of the model's sample is left; fit to the rest anew"
        )
        pairs = bool((left.pairs.weights > 0).any())
        require(pairs, where, "X, Y", "not nearly all rows of the model", got)
        return replace(self, sums=left)


def support_plan(data: PairedData, support_size: int) -> FramePlan | None:
    """Return how the frame of the support is chosen; None if all rows are kept.

    Parameters
    ----------
    data : PairedData
        The rows of the fit.
    support_size : int
        The largest number of rows that are kept.
    """
    if data.sample.n <= support_size:
        return None
    return frame_plan(data.encodings, data.seed)


def frame_plan(encodings: tuple[Encoding, Encoding], seed: int) -> FramePlan:
    """Return how the frame of the support is chosen.

    Parameters
    ----------
    encodings : tuple of Encoding
        The columns of X and Y.
    seed : int
        The seed of the fit.
    """
    x, y = (side.width == 1 and side.numeric for side in encodings)
    return FramePlan((x, y), seed)
