"""The fit of a pool of discrete outcomes: a direct model, and a forest."""

from collections.abc import Callable

import numpy as np

from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import executor_for
from jointdist.distributions.energy import Energy
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.lowrank.novelty import novelty_detector
from jointdist.models._location_scale import LocationScaleSpec
from jointdist.models._pool_fit import pool_rows, some_rows
from jointdist.models.direct_pool import DirectPool
from jointdist.models.jdl import JointDistribution
from jointdist.programs.pool import least_members
from jointdist.regression.kernel_choice import choose_kernels
from jointdist.regression.regression_data import RegressionData
from jointdist.regression.training import Training

__all__ = ["fit_direct_pool"]


def fit_direct_pool(
    data: Training,
    design: Design,
    encodings: tuple[Encoding, Encoding],
    spec: LocationScaleSpec,
    fitted: Callable[[Kernel | str], JointDistribution],
) -> tuple[JointDistribution, DirectPool]:
    """Learn a joint distribution, a direct model and a forest, and the weights of the latter.

    Parameters
    ----------
    data : Training
        The rows and the folds.
    design : Design
        What became of the columns of X.
    encodings : tuple of Encoding
        How the columns of X and of Y became numbers.
    spec : LocationScaleSpec
        How much work it is worth, and the kernel of X.
    fitted : callable
        From the kernel of X to a joint distribution that is fitted to all rows.
    """
    part, _ = some_rows(data)
    x, w, rng = part.x, part.weights, np.random.default_rng(data.seed)
    executor = executor_for(x, spec.executor)
    splits = None if part.folds is None else part.folds.rows
    rows = pool_rows(part, (design.encoding, encodings[1]), splits, data.seed, executor)
    family = family_of("x", spec.kernel_x, encodings[0], x, weights=w, rng=rng)
    fits, _ = choose_kernels(
        family,
        RegressionData(x, rows.targets, w, part.folds).alone(),
        max_rank=spec.effort.small_rank,
        effort=spec.effort,
        random_state=data.seed,
        executor=spec.executor,
        begin=spec.begin,
    )
    kernel = fits[0].kernel
    spec.begin("direct model")
    members = [rows.direct(kernel, spec.effort)]
    spec.begin("forest")
    members.append(rows.forest(spec.effort))
    held = [one.held for one in members]
    known = np.flatnonzero(np.isfinite(np.concatenate(held, axis=1)).all(axis=1))
    energy = Energy.on(rows.cells)
    cells = [P[known] / rows.cells.mean for P in held]
    products = energy.products(cells, energy.to_points(rows.y[known]))
    found = least_members(products, None if w is None else w[known])
    scores = np.average(
        np.einsum("nkk->nk", products) / 2, axis=0, weights=None if w is None else w[known]
    )
    kept = np.flatnonzero(found.weights)
    # The kernel acts on encoded columns: those that users see, if all are numbers.
    same = design.is_plain and not family.factors
    spec.begin("joint distribution")
    joint = fitted(kernel if same else spec.kernel_x)
    detector = novelty_detector(
        family.at(1.0), x, w, random_state=data.seed, executor=spec.executor
    )
    pool = DirectPool(
        joint._fitted,  # noqa: SLF001
        detector,
        encodings,
        [members[i].member for i in kept],
        [members[i].name for i in kept],
        found.weights[kept],
        scores[kept],
        found.score,
        spec.executor,
    )
    return joint, pool
