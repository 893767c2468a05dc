r"""Questions backwards: the distribution of X given an outcome, by Bayes' rule.

A model of Y given x is asked at the support points of X, and each gets the weight

.. math:: p(x_i | y) = w_i p(y | x_i) / \sum_j w_j p(y | x_j).

Averaged over the model's own marginal of Y, these are the weights :math:`w_i` of the sample;
averaged over the outcomes of the sample they are so only as far as forecasts are calibrated.
Raking makes it exact: it multiplies the joint weights of support points and observed outcomes by
factors of both, so that both marginals are those of the sample. The factors of the outcomes cancel
in Bayes' rule, and those of the support points multiply :math:`w_i`, whatever the outcome.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from jointdist._array import Index, Matrix, Vector, to_numpy
from jointdist._cached import Cached, cached
from jointdist.data.encoding import Encoding
from jointdist.data.executor import executor_for
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import differing_columns
from jointdist.distributions.point_cdfs import point_quantiles
from jointdist.distributions.support_points import Merged, SupportPoints
from jointdist.errors import OutOfDistributionWarning, ToleranceWarning, warn_user
from jointdist.models.event_rows import WeightedRows
from jointdist.models.outcome_likelihood import OutcomeLikelihood
from jointdist.models.questions import Answering
from jointdist.programs.raking import rake
from jointdist.projection.proper import ProperDistributions

__all__ = ["Backwards", "Margins", "PointDistributions", "of_direct", "warn_of_outcomes"]

Margins: TypeAlias = Literal["free", "exact"]

_RAKED = 512  # outcomes that stand for those of the sample: 4 to 12 s for 4,096 forecasts
_NONE = 1e-12  # the trust in an outcome that does not count in raking
_INEXACT = 1e-8  # the relative error of a raked marginal above which users are told
_WORKED = 1 << 20  # densities worked on at a time: 8 MB, and as much for each column of Y
_KEPT = 1 << 25  # weights stored: a memory budget of a quarter of a gigabyte
_TOLD = 0.05  # the share of outcomes that may be out of distribution without a warning


@dataclass(frozen=True, eq=False)
class PointDistributions(ProperDistributions):
    """Distributions of X on distinct points, each with a weight of its own."""

    def projection(self) -> None:
        """Return None: these are proper without a projection."""

    def _quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        return point_quantiles(self.support, column, t, mass, levels)


@dataclass(frozen=True, eq=False)
class Backwards(Cached):
    """The distributions of X given outcomes, of a model of Y given x.

    Attributes
    ----------
    likelihood : OutcomeLikelihood
        The likelihood of outcomes at the rows of X.
    support : CellSupport
        The distinct rows, in the columns of the table that users know.
    place : array of int, of shape (n,)
        Which of these each row is.
    outcomes : SupportPoints
        The observed outcomes.
    """

    likelihood: OutcomeLikelihood
    support: CellSupport
    place: Index
    outcomes: SupportPoints

    @staticmethod
    def of(model: Answering, outcomes: SupportPoints, where: str) -> "Backwards":
        """Return what is needed of a fitted model.

        Parameters
        ----------
        model : Answering
            The model.
        outcomes : SupportPoints
            The observed outcomes of its sample.
        where : str
            The method, for messages.
        """
        x = model.donors_x.positive()
        shares = x.weights / x.weights.sum()
        likelihood = OutcomeLikelihood(model.of_y(x.rows), shares, where)
        likelihood.require_density()
        shown = model.design_x.shown
        count = 0 if model.seen is None else model.seen.count
        support, place = _support(x, shown, count)
        return Backwards(likelihood, support, place, outcomes)

    def of_x(self, y: Rows, margins: Margins = "free") -> PointDistributions:
        """Return the distributions of X given rows of Y.

        Parameters
        ----------
        y : Rows
            The rows, coded.
        margins : {"free", "exact"}, default="free"
            Whether both marginals are those of the sample, by raking.
        """
        factors = self.factors if margins == "exact" else np.zeros(len(self.place))
        found = OutcomeConditions(y, self, factors)
        return PointDistributions(self.support, found)

    def coefficients(self, y: Vector, factors: Vector) -> tuple[Matrix, Vector]:
        """Return the coefficients of distributions given outcomes, and their novelty.

        Parameters
        ----------
        y : array of shape (q, d)
            The outcomes, coded.
        factors : array of shape (n,)
            The logarithms of factors of the weights of the rows.
        """
        own = (np.log(self.likelihood.shares) + factors)[:, None]
        step = max(_WORKED // len(self.place), 1)
        t, novelty = np.empty((len(y), self.support.rank)), np.empty(len(y))
        for start in range(0, len(y), step):
            part = slice(start, start + step)
            logs, trust = self.likelihood.ratios(y[part])
            logs += own
            w = np.exp(logs - logs.max(axis=0))
            w *= trust / w.sum(axis=0)
            t[part] = ((self._places @ w).T / self.support.mean) - trust[:, None]
            novelty[part] = 1 - trust
        return t, novelty

    @cached
    def factors(self) -> Vector:
        """The logarithms of factors of the rows that make both marginals those of the sample."""
        many = self.likelihood.is_discrete  # whose probabilities are all known at once
        y, v = _few(self.outcomes, len(self.outcomes.table()) if many else _RAKED)
        logs, trust = self.likelihood.ratios(y)
        some = np.flatnonzero(trust > _NONE)
        able = np.flatnonzero(np.isfinite(logs[:, some]).any(axis=1))
        found, error = np.zeros(len(logs)), 1.0
        if len(able):
            w, v = self.likelihood.shares[able], v[some] * trust[some]
            raked = rake(logs[np.ix_(able, some)], w / w.sum(), v / v.sum())
            found[able] = raked.rows - np.log(w)
            error = raked.error if len(able) == len(logs) else error
        if error > _INEXACT:
            msg = (
                f"{self.likelihood.where}: marginals are met up to a share of {error:.1g} only, as "
                "forecasts are narrow beside the distances between outcomes."
            )
            warn_user(msg, ToleranceWarning)
        return found

    @cached
    def _places(self) -> csr_array:
        """The matrix that sums the weights of rows over those that are equal."""
        n = len(self.place)
        pairs = self.place, np.arange(n)
        return csr_array((np.ones(n), pairs), shape=(self.support.rank, n))


@dataclass(frozen=True, eq=False)
class OutcomeConditions(Cached):
    """Rows of Y as conditions of distributions of X.

    Attributes
    ----------
    rows : Rows
        The rows, coded.
    backwards : Backwards
        What answers.
    factors : array of shape (n,)
        The logarithms of factors of the weights of the rows of X.
    """

    rows: Rows
    backwards: Backwards
    factors: Vector

    @property
    def n(self) -> int:
        """The number of conditions."""
        return self.rows.n

    @cached
    def solved(self) -> tuple[Matrix, Vector]:
        """The coefficients of all distributions, and their novelty."""
        y = to_numpy(self.rows.read(0, self.n))
        return self.backwards.coefficients(y, self.factors)

    def parts(self) -> Iterator[Matrix]:
        """Yield the coefficients of all distributions, as many at a time as fit in memory."""
        for part in self._parts():
            yield part.solved[0]

    def novelty(self) -> Vector:
        """Return how far each outcome is from all forecasts, from zero to one."""
        return np.concatenate([part.solved[1] for part in self._parts()])

    def leverage(self) -> Vector:
        """Return NaN: outcomes are observed at conditions on X only."""
        return np.full(self.n, np.nan)

    def outside(self) -> list[tuple[str, ...]]:
        """Return the columns of each outcome that are outside the range seen."""
        known = self._encoding
        if not known.numeric:
            return [()] * self.n
        seen, y = self.backwards.outcomes.table(), to_numpy(self.rows.read(0, self.n))
        beyond = np.asarray((y < seen.min(axis=0)) | (y > seen.max(axis=0)))
        titles = np.array(known.titles("y"), dtype=object)
        return [tuple(titles[each]) for each in list(beyond)]

    def labels(self) -> tuple[str, list[str]]:
        """Return the names of the columns that tell conditions apart, and their values."""
        return differing_columns(self.rows, self._encoding)

    def take(self, rows: Any) -> "OutcomeConditions":
        """Return the chosen conditions."""
        chosen = replace(self, rows=self.rows.subset(np.arange(self.n)[rows]))
        if "solved" in vars(self):
            t, novelty = self.solved
            vars(chosen)["solved"] = t[rows], novelty[rows]
        return chosen

    @property
    def _encoding(self) -> Encoding:
        return self.backwards.outcomes.encoding

    def _parts(self) -> Iterator["OutcomeConditions"]:
        """Yield all conditions, or some at a time."""
        step = max(_KEPT // len(self.backwards.place), 1)
        if self.n <= step:
            yield self
            return
        for start in range(0, self.n, step):
            yield self.take(np.arange(start, min(start + step, self.n)))


def of_direct(model: Any, where: str) -> Backwards:
    """Return what is needed of a model of discrete outcomes.

    Parameters
    ----------
    model : DistributionEstimator
        The model, fitted.
    where : str
        The method, for messages.
    """
    fitted = model._fitted  # noqa: SLF001
    outcomes = fitted.kept.points_y(executor_for(fitted.donors_x.rows))
    return Backwards.of(fitted, outcomes, where)


def warn_of_outcomes(where: str, novelty: Vector) -> None:
    """Warn if more than one in twenty outcomes is far from all forecasts.

    Parameters
    ----------
    where : str
        The method, for the message.
    novelty : array of shape (q,)
        How far out of distribution each outcome is.
    """
    far = int((novelty > 0.5).sum())
    if far > _TOLD * len(novelty):
        msg = (
            f"{where}: {far:,} of {len(novelty):,} rows of Y are out of distribution: far from "
            "all forecasts. X given these is distributed as in the sample. See `novelty`."
        )
        warn_user(msg, OutOfDistributionWarning)


def _support(x: WeightedRows, shown: Encoding, count: int) -> tuple[CellSupport, Index]:
    """Return the distinct rows of X as a support, and which of these each row is."""
    table, place = np.unique(x.rows.table()[:, : shown.width], axis=0, return_inverse=True)
    which: Index = place.ravel()
    weights: Vector = np.bincount(which, x.weights).astype(np.float64)
    rows, n = Rows(table, x.rows.where, "X"), len(table)
    workers = executor_for(rows)
    points = SupportPoints(rows, shown, weights, workers)
    known = Merged(  # the number of rows tells columns of few values
        count=max(count, n),
        equal=False,
        squared=weights**2,
        variances=None,
        units=points.units(),
        exact=np.ones(n, dtype=bool),
    )
    sample = SupportPoints(rows, shown, weights, workers, known)
    return CellSupport.of_each(points, sample), which


def _few(outcomes: SupportPoints, most: int) -> tuple[Matrix, Vector]:
    """Return distinct outcomes with their weights: of many numbers, some that stand for all.

    Of one column these are at equidistant levels, of several the means of those next to each of
    some that are chosen at random.

    Parameters
    ----------
    outcomes : SupportPoints
        The observed outcomes.
    most : int
        The largest number of them.
    """
    table, which = np.unique(outcomes.table(), axis=0, return_inverse=True)
    w: Vector = np.bincount(which.ravel(), outcomes.shares).astype(np.float64)
    table, w = table[w > 0], w[w > 0] / w.sum()
    if len(w) <= most:
        return table, w
    if table.shape[1] > 1:
        return _neighbours(table, w, outcomes.units(), most)
    levels = (np.arange(most) + 0.5) / most
    at = np.minimum(np.searchsorted(np.cumsum(w), levels), len(w) - 1)
    chosen, counts = np.unique(at, return_counts=True)
    return table[chosen], counts / most


def _neighbours(table: Matrix, w: Vector, unit: Vector, most: int) -> tuple[Matrix, Vector]:
    """Return the means and the weights of rows next to each of some of them."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(w), most, replace=False, p=w)
    near = cKDTree(table[chosen] / unit).query(table / unit)[1]
    weights: Vector = np.bincount(near, w, most).astype(np.float64)
    sums = [np.bincount(near, w * column, most) for column in table.T]
    return np.stack(sums, axis=1) / weights[:, None], weights
