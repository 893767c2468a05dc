"""The fit of a log-linear ratio to paired rows, given functions of both sides and a ridge."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import solve_triangular

from jointdist._array import (
    Array,
    Index,
    Matrix,
    Vector,
    array_namespace,
    is_numpy_array,
    like,
    to_numpy,
)
from jointdist.data.executor import Executor, sized_blocks
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.likelihood.cell_functions import CellFunctions
from jointdist.likelihood.log_ratio import LogRatio, TiltQueries
from jointdist.likelihood.settings import SETTINGS
from jointdist.lowrank.basis import Basis, side_basis
from jointdist.lowrank.factor import Landmarks
from jointdist.lowrank.features import FeatureMap
from jointdist.programs import (
    Blocks,
    Intercepts,
    LogRatioProblem,
    LogRatioSolution,
    TiltedRows,
    best_intercepts,
)

__all__ = ["CellOutcomes", "Regressors", "exact_marginal", "log_ratio_of", "regressors"]

_Sums: TypeAlias = tuple[float, Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class CellOutcomes:
    """The outcomes of rows as cells, with functions on these.

    Attributes
    ----------
    which : array of int, of shape (n,)
        The cell of each row.
    functions : CellFunctions
        The functions at the cells.
    """

    which: Index
    functions: CellFunctions


@dataclass(frozen=True, slots=True, eq=False)
class Regressors:
    """Rows of X with double-orthogonal functions of mean zero.

    Attributes
    ----------
    basis : Basis
        The functions.
    rows : Rows
        The rows.
    weights : array of shape (n,), optional
        Their weights.
    executor : Executor
        Runs the row blocks.
    watch : callable, optional
        Called with the objective after each evaluation of the program.
    """

    basis: Basis
    rows: Rows
    weights: Vector | None
    executor: Executor
    watch: Callable[[float], None] | None = None

    def problem(self, outcomes: CellOutcomes) -> LogRatioProblem:
        """Return the program of maximum likelihood.

        Parameters
        ----------
        outcomes : CellOutcomes
            The outcomes of the rows.
        """
        basis, rows = self.basis, self.rows

        def compute(part: slice) -> Array:
            return basis.features(rows.read(part.start, part.stop))

        on_host = is_numpy_array(basis.map.core)
        widest = max(basis.rank, len(outcomes.functions.values))
        blocks = Blocks(
            rows.n,
            basis.rank,
            compute,
            executor=sized_blocks(self.executor, widest, shared=True),
            limit=SETTINGS.kept if on_host else SETTINGS.kept_on_device,
            dtype="float64" if rows.n * basis.rank <= SETTINGS.exact else "float32",
        )
        total = rows.n if self.weights is None else float(self.weights.sum())
        values, squares = outcomes.functions.values, to_numpy(basis.eigenvalues) / total
        sides = outcomes.which, values, self.weights, squares
        return LogRatioProblem(blocks, *sides, self.watch)


def regressors(
    low: Landmarks,
    rows: Rows,
    weights: Vector | None,
    executor: Executor,
    watch: Callable[[float], None] | None = None,
) -> Regressors:
    """Return rows of X with their functions, whose products are summed in one pass.

    Parameters
    ----------
    low : Landmarks
        The landmarks of X.
    rows : Rows
        The rows of X.
    weights : array of shape (n,), optional
        Their weights.
    executor : Executor
        Runs the row blocks.
    watch : callable, optional
        Called with the objective after each evaluation of the program.
    """

    def block(start: int, z: Array) -> _Sums:
        phi = low.map.features(z)
        if weights is None:
            return float(z.shape[0]), array_namespace(phi).sum(phi, axis=0), phi.T @ phi
        w = like(weights[start : start + z.shape[0]], phi)
        return float(to_numpy(w).sum()), w @ phi, (phi * w[:, None]).T @ phi

    def added(a: _Sums, b: _Sums) -> _Sums:
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]

    sums = executor.reduce(added, block, rows)
    basis = side_basis(low, *sums, centred=True)
    return Regressors(basis, rows, weights, executor, watch)


def log_ratio_of(
    basis: Basis, functions: CellFunctions, solution: LogRatioSolution, shares: Vector
) -> LogRatio:
    r"""Return solved coefficients as a log-ratio, a function of rows of X.

    The tilts :math:`W \Psi_X(x)` are written as sums of kernels at the landmarks, so that no
    triangular factor is kept.

    Parameters
    ----------
    basis : Basis
        The functions of X.
    functions : CellFunctions
        The functions of Y at the cells.
    solution : LogRatioSolution
        The coefficients.
    shares : array of shape (K,)
        The shares of the cells.
    """
    features = basis.map
    assert isinstance(features, FeatureMap)  # noqa: S101  # for type checkers
    turned: Matrix = to_numpy(basis.rotation) @ solution.value.T
    slopes = turned
    if basis.rank:
        core = to_numpy(features.core)
        slopes = np.asarray(solve_triangular(core, turned, lower=True, trans="T"))
    return LogRatio(
        features.kernel,
        to_numpy(features.landmarks),
        slopes,
        -(to_numpy(basis.mean) @ turned),
        functions.values,
        solution.intercept,
        shares,
    )


def exact_marginal(
    found: LogRatio, conditions: TiltQueries, sample: Sample, executor: Executor
) -> Intercepts:
    """Return the intercepts at which the marginal of Y is exact over rows.

    Parameters
    ----------
    found : LogRatio
        The log-ratio.
    conditions : TiltQueries
        Rows of X as its conditions; any rows.
    sample : Sample
        The rows, with their weights.
    executor : Executor
        Runs the row blocks.
    """
    total = sample.size

    def part(start: int, z: Array) -> TiltedRows:
        t, trust, _ = conditions.near(z)
        w = np.ones(z.shape[0])
        if sample.weights is not None:
            w = sample.weights[start : start + len(w)]
        return TiltedRows(t, like(w / total, t), trust)

    rows = executor.map(part, sample.x)
    return best_intercepts(rows, found.functions, found.shares, found.intercept)
