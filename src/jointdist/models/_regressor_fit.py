"""The fit of a distribution regressor: what is learned, by the shape of the outcomes."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from jointdist.data.encoding import Encoding
from jointdist.data.phases import phases
from jointdist.kernels import Kernel
from jointdist.models._arguments import PairedData
from jointdist.models._direct_pool_fit import fit_direct_pool
from jointdist.models._hurdle_fit import fit_shaped
from jointdist.models._location_scale import (
    LocationScaleSpec,
    fit_alone,
    fit_by,
    is_discrete,
    warn_if_unused,
)
from jointdist.models._pool_fit import fit_pool
from jointdist.models.direct_pool import DirectPool
from jointdist.models.hurdle_model import HurdleModel
from jointdist.models.jdl import JointDistribution
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.outcome_shape import OutcomeShape, outcome_shape
from jointdist.models.pool_settings import SETTINGS
from jointdist.models.pooled_model import PooledModel
from jointdist.regression.effort import EFFORTS
from jointdist.regression.training import Training

__all__ = ["RegressorModel", "fit_regressor"]

RegressorModel: TypeAlias = LocationScaleModel | PooledModel | HurdleModel | DirectPool

# The phases of a fit in their usual order, with the share of the time that each took for
# 10,000 rows of 8 columns on two cores, in percent; those without a number are rare.
_PHASES: Mapping[str, float] = {
    "length scales": 25,
    "kernels": 25,
    "nearest neighbours": 10,
    "kernels without each fold": 0,
    "regressors": 0,
    "forest": 10,
    "boosting": 10,
    "scale": 2,
    "residuals": 5,
    "direct model": 11,
    "weights": 2,
    "point masses": 0,
    "joint distribution": 0,
}


def fit_regressor(
    model: Any, pair: PairedData, data: Training, given: tuple[Any, Any, Any]
) -> tuple[JointDistribution, RegressorModel | None]:
    """Return the distribution of residuals, or that of Y, and the model that answers.

    There is no model where a joint distribution of X and Y answers.

    Parameters
    ----------
    model : DistributionRegressor
        The estimator, for its parameters.
    pair : PairedData
        The rows that were read.
    data : Training
        The rows and the folds.
    given : tuple
        X, Y and the weights, as users gave them.
    """
    auto = isinstance(model.regressor, str) and model.regressor == "auto"
    where = type(model).__name__
    shape = _shape(model, where, pair.encodings[1], data)
    with phases(where, _PHASES, verbose=model.verbose) as begin:
        spec = LocationScaleSpec(
            where,
            model.regressor,
            model.kernel_x,
            constant=not model.scale,
            estimator=lambda kernel: _of_residuals(model, pair.seed, kernel),
            executor=model.executor,
            effort=EFFORTS[model.effort],
            begin=begin,
        )
        rows = data, pair.design, pair.encodings
        if not is_discrete(pair.encodings[1], data.given_outcomes):
            found = fit_shaped(
                *rows, spec, shape=shape, fit=fit_pool if auto else fit_alone
            )
            return found.residuals, found
        warn_if_unused(where, model.regressor)

        def direct(kernel_x: Kernel | str) -> JointDistribution:
            dist = _estimator(model, pair.seed, kernel_x)
            fit_by(dist, pair.sample.folds, *given)
            return dist

        few = data.sample.n < SETTINGS.least_rows
        if not auto or model.distribution is not None or few:
            begin("joint distribution")
            return direct(model.kernel_x), None
        return fit_direct_pool(*rows, spec, direct)


def _shape(model: Any, where: str, encoding: Encoding, data: Training) -> OutcomeShape:
    """Return the bounds and the point masses of the outcomes."""
    if not encoding.numeric:
        return OutcomeShape(None, np.empty(0))
    y, w = data.outcomes, data.sample.weights
    how = {"point_masses": model.point_masses, "integers": model.integers}
    return outcome_shape(where, model.support, y, w, **how)


def _estimator(model: Any, seed: int, kernel_x: Kernel | str) -> JointDistribution:
    """Return the unfitted estimator of the distribution of residuals, or of Y."""
    if model.distribution is not None:
        dist: JointDistribution = clone(model.distribution)
        seeded = dist.random_state is not None
        return dist if seeded else dist.set_params(random_state=seed)
    return JointDistribution(
        kernel_x,
        missing=model.missing,
        unknown=model.unknown,
        random_state=seed,
        executor=model.executor,
        verbose=model.verbose,
    )


def _of_residuals(model: Any, seed: int, kernel_x: Kernel) -> JointDistribution:
    """Return the unfitted estimator of the distribution of residuals.

    Nobody asks for locations given residuals: their projections are not calibrated.
    """
    dist = _estimator(model, seed, kernel_x)
    dist._both = False  # noqa: SLF001
    return dist
