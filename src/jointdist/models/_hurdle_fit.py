"""The fit of a hurdle model: the rows that are no point masses, and the probability of these."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.lowrank.novelty import novelty_detector
from jointdist.models._location_scale import LocationScaleSpec, about_rows, is_discrete
from jointdist.models._pool_fit import HeldForecasts, pool_rows, some_rows
from jointdist.models.hurdle_model import HurdleModel, MassModel
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.outcome_shape import OutcomeShape
from jointdist.models.pooled_model import PooledModel
from jointdist.programs.pool import least_members
from jointdist.regression.settings import SETTINGS as REGRESSION
from jointdist.regression.tables import take_rows
from jointdist.regression.training import Training

__all__ = ["fit_shaped"]

# Functions of X of the log-ratio of point masses: with 50 and with 600 its error was 5 to 20 %
# larger on simulated data of eight columns. And the folds that choose its ridge: those of the
# direct model of a pool.
_RANK, _FOLDS = 128, 3

_Base = LocationScaleModel | PooledModel
_Fit = Callable[[Training, Design, tuple[Encoding, Encoding], LocationScaleSpec], _Base]


def fit_shaped(
    data: Training,
    design: Design,
    encodings: tuple[Encoding, Encoding],
    spec: LocationScaleSpec,
    *,
    shape: OutcomeShape,
    fit: _Fit,
) -> LocationScaleModel | PooledModel | HurdleModel:
    """Learn distributions of outcomes of a given shape.

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
    shape : OutcomeShape
        The bounds and the point masses.
    fit : callable
        Learns distributions without point masses.
    """
    rest = _other_rows(data, encodings, shape.point_masses)
    if rest is None:
        return fit(data, design, encodings, replace(spec, range=shape.range))
    base = fit(rest, design, encodings, replace(spec, range=shape.rest))
    rng, x, w = np.random.default_rng(data.seed), data.sample.x, data.sample.weights
    kernel = family_of("x", spec.kernel_x, encodings[0], x, weights=w, rng=rng).at(1.0)
    workers = spec.executor
    detector = novelty_detector(kernel, x, w, random_state=data.seed, executor=workers)
    own = base.location.kernel if spec.effort.direct else None
    kernels = [kernel] if own is None else [kernel, own]
    spec.begin("point masses")
    masses = _fit_masses(data, design, spec, shape.point_masses, kernels)
    return HurdleModel(
        base, masses, **about_rows(data, design, encodings, detector, workers)
    )


def _other_rows(
    data: Training, encodings: tuple[Encoding, Encoding], values: Vector
) -> Training | None:
    """Return the rows that are no point masses; None without these, or if too few are left."""
    if not len(values):
        return None
    rows = np.flatnonzero(~np.isin(data.given_outcomes[:, 0], values))
    given = data.given.take(rows)
    held = given.folds is None or len(given.folds.rows) > 0
    few = len(rows) < REGRESSION.boosting_least_rows
    if few or not held or is_discrete(encodings[1], data.given_outcomes[rows]):
        return None
    return Training.of(given, take_rows(data.table, rows), data.folds, data.seed)


def _fit_masses(
    data: Training,
    design: Design,
    spec: LocationScaleSpec,
    values: Vector,
    kernels: list[Kernel],
) -> MassModel:
    """Return the probabilities of point masses, by the models with the least Brier score."""
    executor, (part, some) = executor_for(data.sample.x, spec.executor), some_rows(data)
    column, count = data.outcomes[some, 0], len(values)
    own = np.where(np.isin(column, values), np.searchsorted(values, column), count)
    names = tuple(str(i) for i in range(count + 1))
    coded = replace(part, y=Rows(own[:, None].astype(np.float64), spec.where, "Y"))
    splits = None if part.folds is None else part.folds.rows
    both = design.encoding, Encoding((names,))
    rows = pool_rows(coded, both, splits, data.seed, executor)
    small = replace(spec.effort, direct_rank=(_RANK, _RANK), direct_folds=_FOLDS)
    found = [rows.direct(kernel, small) for kernel in kernels]
    if spec.effort.direct:
        found.append(rows.forest(spec.effort))
    weights = _weights(found, rows.which, part.weights)
    kept = np.flatnonzero(weights)
    members = [found[i].member.model for i in kept]
    classes = rows.which[[np.flatnonzero(own == i)[0] for i in range(count)]]
    return MassModel(values, classes, members, weights[kept])


def _weights(
    members: list[HeldForecasts], classes: Index, weights: Vector | None
) -> Vector:
    """Return the weights of the average that has the least Brier score out of fold."""
    P = np.stack([one.held for one in members])
    known = np.flatnonzero(np.isfinite(P).all(axis=(0, 2)))
    errors = P[:, known]
    errors[:, np.arange(len(known)), classes[known]] -= 1
    products = np.einsum("knc,lnc->nkl", errors, errors)
    return least_members(products, None if weights is None else weights[known]).weights
