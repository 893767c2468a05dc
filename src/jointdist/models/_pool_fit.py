"""The fit of a pool: location-scale distributions, a direct model, and a forest."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from jointdist._array import Index, Matrix, Vector, to_numpy
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.folds import Split
from jointdist.data.sample import Sample, held_out
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.energy import Energy
from jointdist.distributions.energy_products import energy_products
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Kernel
from jointdist.likelihood.cross_fit import cross_fit
from jointdist.likelihood.outcome_cells import (
    Intervals,
    cells_of_regions,
    interval_edges,
)
from jointdist.lowrank.reduction import Factoring
from jointdist.models._location_scale import (
    HeldLocationScale,
    LocationScaleSpec,
    fit_location_scale,
)
from jointdist.models.cell_forecasts import CellForecasts, known_cells
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.members import MEMBERS
from jointdist.models.pool_settings import SETTINGS
from jointdist.models.pooled_model import PooledModel
from jointdist.programs.pool import PoolWeights, least_members
from jointdist.projection.partition import cells_of_points
from jointdist.regression.effort import Effort
from jointdist.regression.fitted_location import ForestLocation
from jointdist.regression.forest import Forest, ForestData, choose_forest
from jointdist.regression.location import GrownForest
from jointdist.regression.settings import SETTINGS as REGRESSION
from jointdist.regression.training import Training

__all__ = [
    "HeldForecasts",
    "PoolRows",
    "fit_pool",
    "pool_rows",
    "some_rows",
    "weigh_members",
]


@dataclass(frozen=True, slots=True, eq=False)
class HeldForecasts:
    """A member of a pool with its out-of-fold probabilities of cells.

    Attributes
    ----------
    name : str
        The name of the member.
    member : CellForecasts
        The member.
    held : array of shape (n, K)
        The probabilities at each row; NaN for rows that are never held out.
    leaf : int, default=0
        Of a forest, the fewest rows of a leaf.
    """

    name: str
    member: CellForecasts
    held: Matrix
    leaf: int = 0

    def of_y(self, rows: Index) -> Distributions:
        """Return the out-of-fold distributions of some rows."""
        return known_cells(self.member.cells, self.held[rows])


@dataclass(frozen=True, slots=True, eq=False)
class PoolRows:
    """Rows with outcomes in cells, from which members are learned.

    Attributes
    ----------
    sample : Sample
        The rows.
    encodings : tuple of Encoding
        Their columns.
    y : array of shape (n, d)
        The outcomes.
    cells : CellSupport
        The outcomes in cells.
    which : array of int, of shape (n,)
        The cell of each row.
    splits : list of Split, optional
        The folds, if rows are not exchangeable.
    seed : int
        The seed.
    executor : Executor
        Runs the row blocks.
    """

    sample: Sample
    encodings: tuple[Encoding, Encoding]
    y: Matrix
    cells: CellSupport
    which: Index
    splits: list[Split] | None
    seed: int
    executor: Executor

    @property
    def targets(self) -> Matrix:
        """The outcomes as numbers; of a categorical column, indicators of its categories."""
        found = []
        for column, known in zip(self.y.T, self.encodings[1].categories, strict=True):
            if known is None:
                found.append(column)
                continue
            counts = np.bincount(column.astype(np.intp), minlength=len(known))
            often = np.argsort(-counts, kind="stable")[: SETTINGS.categories]
            found += [(column == code).astype(np.float64) for code in often if counts[code]]
        return np.stack(found, axis=1)

    def forest(self, effort: Effort) -> HeldForecasts:
        """Return a forest, whose leaves are as large as is best out of fold.

        Parameters
        ----------
        effort : Effort
            The number of trees.
        """
        z = to_numpy(self.sample.x.read(0, self.sample.n))
        encoding, w = self.encodings[0], self.sample.weights
        data = ForestData(z, encoding, self.which, self.cells.rank, self.targets, w)

        energy = Energy.on(self.cells)
        near, p = energy.to_points(self.y), self.cells.mean

        def score(held: Matrix) -> float:
            known = np.flatnonzero(np.isfinite(held).all(axis=1))
            each = energy.scores(held[known] / p - 1, near[known])
            return float(np.average(each, weights=None if w is None else w[known]))

        trees = effort.trees[self.sample.n >= REGRESSION.few_rows]
        forest, held, best = choose_forest(
            data,
            self.splits,
            score,
            trees=trees,
            leaves=REGRESSION.forest_leaves,
            trial_trees=max(trees // REGRESSION.forest_trials, 1),
            random_state=self.seed,
            executor=self.executor,
        )
        return HeldForecasts("forest", CellForecasts(forest, self.cells), held, best)

    def direct(self, kernel: Kernel, effort: Effort) -> HeldForecasts:
        """Return a log-linear ratio with a kernel of X.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        effort : Effort
            The number of functions of X, and that of folds.
        """
        sample = self.sample
        rank = effort.direct_rank[sample.n >= REGRESSION.few_rows]
        most = min(rank, max(sample.n // 2, 1))
        how = Factoring(SETTINGS.direct_trace, None, "auto", self.seed, self.executor)
        low = how.factored("kernel_x", kernel, sample.x, sample.weights, most)
        splits = self.splits
        if splits is None:
            n, count = sample.n, effort.direct_folds
            splits = [Split.without(rows, n) for rows in held_out(n, count, self.seed)]
        found = cross_fit(
            low.small,
            sample.x,
            self.cells,
            self.which,
            self.y,
            sample.weights,
            splits,
            self.executor,
        )
        member = CellForecasts(found.log_ratio, self.cells)
        return HeldForecasts("direct", member, found.held)


def pool_rows(
    sample: Sample,
    encodings: tuple[Encoding, Encoding],
    splits: list[Split] | None,
    seed: int,
    executor: Executor,
) -> PoolRows:
    """Return rows with their outcomes in cells.

    Parameters
    ----------
    sample : Sample
        The rows.
    encodings : tuple of Encoding
        Their columns.
    splits : list of Split, optional
        The folds, if rows are not exchangeable.
    seed : int
        The seed.
    executor : Executor
        Runs the row blocks.
    """
    own = sample.owned()
    y = to_numpy(own.y.read(0, own.n))
    points = SupportPoints(own.y, encodings[1], own.weights, executor)
    if points.is_scalar:
        cells = cells_of_points(points, points, REGRESSION.forest_cells, y[0])
        which = Intervals(interval_edges(cells)).locate(y)
    else:
        cells, regions = cells_of_regions(points, REGRESSION.forest_cells, y[0])
        which = regions.locate(y)
    return PoolRows(sample, encodings, y, cells, which, splits, seed, executor)


def weigh_members(
    dists: list[Distributions], y: Matrix, unit: Vector, weights: Vector | None
) -> tuple[PoolWeights, Vector]:
    """Return the weights of members by their out-of-fold scores, and each one's own score.

    Parameters
    ----------
    dists : list of Distributions
        The out-of-fold distributions of each member.
    y : array of shape (n, d)
        The outcomes.
    unit : array of shape (d,)
        The units of distances along each of several columns.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    products = energy_products(dists, y, unit)
    found = least_members(products, weights)
    own = np.einsum("nkk->nk", products) / 2
    return found, np.average(own, axis=0, weights=weights)


def fit_pool(
    data: Training,
    design: Design,
    encodings: tuple[Encoding, Encoding],
    spec: LocationScaleSpec,
) -> PooledModel:
    """Learn a forest, location and scale with it, a direct model, and the weights of the pool.

    Parameters
    ----------
    data : Training
        The rows and the folds.
    design : Design
        What became of the columns of X.
    encodings : tuple of Encoding
        How the columns of X and of Y became numbers.
    spec : LocationScaleSpec
        How location, scale and residuals are learned.
    """
    sample, executor = data.sample, executor_for(data.sample.x, spec.executor)
    part, some = some_rows(data)
    splits = None if part.folds is None else part.folds.rows
    rows = pool_rows(part, (design.encoding, encodings[1]), splits, data.seed, executor)

    @cache
    def forest() -> HeldForecasts:
        if sample.n > REGRESSION.few_rows:  # of few rows, it grows beside the kernels
            spec.begin("forest")
        return rows.forest(spec.effort)

    def place() -> GrownForest:
        grown, centres = forest(), rows.cells.centres
        model = grown.member.model
        assert isinstance(model, Forest)  # noqa: S101  # for type checkers
        location = ForestLocation(model, centres)
        return GrownForest(location, grown.held @ centres, grown.leaf)

    beside = place if part is sample else None
    base, held = fit_location_scale(data, design, encodings, spec, beside)
    others = [forest()]
    kernel = base.location.kernel
    if kernel is not None and spec.effort.direct:
        spec.begin("direct model")
        others.insert(0, rows.direct(kernel, spec.effort))
    spec.begin("weights")
    return _weighed(base, held, others, rows, some)


def some_rows(data: Training) -> tuple[Sample, Index]:
    """Return the rows that forests and direct models are learned from, and their numbers.

    Parameters
    ----------
    data : Training
        All rows.
    """
    n, most = data.sample.n, SETTINGS.rows
    if n <= most:
        return data.sample, np.arange(n)
    some = np.sort(np.random.default_rng(data.seed).permutation(n)[:most])
    return data.sample.take(some), some


def _weighed(
    base: LocationScaleModel,
    held: HeldLocationScale,
    others: list[HeldForecasts],
    rows: PoolRows,
    some: Index,
) -> PooledModel:
    """Return the pool of members that pay, weighed by rows whose forecasts are all known."""
    known = np.isfinite(np.concatenate([one.held for one in others], axis=1)).all(axis=1)
    place = np.full(int(max(held.rows.max(initial=-1), some.max())) + 1, -1)
    place[held.rows] = np.arange(len(held.rows))
    fine = np.flatnonzero(known & (place[some] >= 0))
    if len(fine) > SETTINGS.weighed:
        fine = np.sort(
            np.random.default_rng(rows.seed).choice(fine, SETTINGS.weighed, False)
        )
    names = [MEMBERS[0], *[one.name for one in others]]
    if not len(fine):  # so few rows that nothing is known out of fold
        nothing = np.full(1, np.nan)
        return PooledModel(base, [], names[:1], np.ones(1), nothing, np.nan)
    w = None if rows.sample.weights is None else rows.sample.weights[fine]
    dists: list[Distributions] = [held.of_y(base, place[some[fine]])]
    dists += [one.of_y(fine) for one in others]
    found, scores = weigh_members(dists, rows.y[fine], base.marginal.units(), w)
    kept = [i for i, weight in enumerate(found.weights) if i == 0 or weight > 0]
    return PooledModel(
        base,
        [others[i - 1].member for i in kept if i],
        [names[i] for i in kept],
        found.weights[kept],
        scores[kept],
        found.score,
    )
