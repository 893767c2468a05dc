r"""The fitted joint distribution: two bases, the coefficients, and the support they stand on.

:math:`Q = \sum_{ij} \omega_i \omega_j (1 + h(x_i, y_j)) \delta_{x_i} \otimes
\delta_{y_j}` on the grid of the sample, Eq. `Qhdef`: the product of the empirical marginals
times a ratio. Its deviation from one is :math:`h = \Psi_Y(\cdot) \tilde H
\Psi_X(\cdot)^\top`, Eq. `eq:state_ij_idlowR`, linear in both bases.
"""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Array, Index, Vector
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.kernel_range import largest_kernel
from jointdist.models.coefficients import Problem
from jointdist.models.dependence import Dependence, dependence
from jointdist.models.direction import Direction, Regression, Typical, calibrated
from jointdist.models.event_rows import WeightedRows, mean_features
from jointdist.models.fitted_joint import FittedJoint
from jointdist.models.fold_calibration import Judges, judged
from jointdist.models.kept_sample import KeptSample
from jointdist.programs import Solution
from jointdist.projection.projected import Projector
from jointdist.projection.support_error import support_error

__all__ = ["Joint", "SolvedJoint", "fit_joint", "on_support"]


@dataclass(frozen=True, eq=False)
class Joint(FittedJoint):
    """A fitted joint distribution: a small value that is never changed, only read.

    Attributes
    ----------
    problem, kept, solution, ridge, grid, seen
        As in :class:`FittedJoint`.
    y_given_x, x_given_y : Direction
        The conditional distributions of Y given X, and of X given Y.
    """

    y_given_x: Direction
    x_given_y: Direction

    @property
    def tuned(self) -> tuple[float | None, float | None]:
        """The ridges of the projections of Y given X, and of X given Y."""
        y, x = (
            own.projector.ridge if isinstance(own.projector, Projector) else None
            for own in (self.y_given_x, self.x_given_y)
        )
        return y, x

    @property
    def H(self) -> Vector:  # noqa: N802
        """The coefficients, of shape (m_Y, m_X)."""
        return self.solution.value

    def of_y(self, x: Rows) -> LinearDistributions:
        """Return the distributions of Y given rows of X, Eq. `QXYYXcond`: Bayes' rule."""
        return self.y_given_x.at(x, self.about_x)

    def of_x(self, y: Rows) -> LinearDistributions:
        """Return the distributions of X given rows of Y, Eq. `QXYYXcond`: Bayes' rule."""
        return self.x_given_y.at(y)

    def marginal_y(self) -> LinearDistributions:
        r"""Return the marginal of Y, Eq. `QXYeq`: at the mean of :math:`\Psi_X`."""
        return self.y_given_x.at_mean(self.x_given_y.support.mean)

    def marginal_x(self) -> LinearDistributions:
        r"""Return the marginal of X, Eq. `QXYeq`: at the mean of :math:`\Psi_Y`."""
        return self.x_given_y.at_mean(self.y_given_x.support.mean)

    def of_y_averaged(self, x: Rows, groups: Groups) -> LinearDistributions:
        """Return averages of the distributions of Y given rows of X, projected afterwards."""
        return self.y_given_x.averaged(x, groups, self.about_x)

    def of_y_within(self, x: WeightedRows) -> LinearDistributions:
        r"""Return the distribution of Y given that X is one of some rows.

        It is that at the weighted mean of :math:`\Psi_X` over the rows, exactly for the
        signed model, and projected afterwards.
        """
        mean = mean_features(self.problem.x, x, self.problem.executor)
        return self.y_given_x.at_mean(mean)

    @property
    def sides(self) -> tuple[SupportPoints, SupportPoints]:
        """The support points of X and Y."""
        return self.x_given_y.support.sample, self.y_given_x.support.sample

    @property
    def support_errors(self) -> tuple[float, float]:
        """By how much cdfs of Y given X, and of X given Y, differ from those on all rows."""
        return self.y_given_x.support_error, self.x_given_y.support_error

    def dependence(
        self, ridge: float, permutations: int, rng: np.random.Generator
    ) -> Dependence:
        """Measure the dependence that the model implies, and test it."""
        return dependence(self.problem, self.H, ridge, permutations, rng)

    def ratio(self, x: Rows, y: Rows) -> Vector:
        """Return 1 + h at pairs of rows."""

        def block(_start: int, a: Array, b: Array) -> Vector:
            t = host_features(self.problem.x, a) @ self.H.T
            h: Vector = np.einsum("qm,qm->q", t, host_features(self.problem.y, b))
            return 1 + h

        return np.concatenate(list(self.problem.executor.map(block, x, y)))

    def ratio_on_grid(self, x: Rows, y: Rows) -> Vector:
        """Return 1 + h at all pairs of rows, ``(k_x, k_y)``."""
        psi = host_features(self.problem.y, y.read(0, y.n))
        signed = replace(self.y_given_x.conditions(x), trusted=0.0)
        return np.concatenate([1 + t @ psi.T for t in signed.parts()])


def on_support(problem: Problem, kept: KeptSample) -> Problem:
    """Return a problem whose constraints hold on the support that a model keeps.

    Parameters
    ----------
    problem : Problem
        The problem on paired rows.
    kept : KeptSample
        What is kept of the sample.
    """
    if kept.rows is not None:
        return replace(problem, few=kept.few_pairs)
    executor = problem.executor
    points = kept.points_x(executor).rows, kept.points_y(executor).rows
    return replace(problem, few=kept.few_pairs, points=points)


@dataclass(frozen=True, eq=False)
class SolvedJoint:
    """The coefficients of a joint distribution, before its projections are calibrated.

    Attributes
    ----------
    problem : Problem
        The bases and the moments.
    solution : Solution
        The coefficients.
    positivity : str
        Whether conditional distributions are ``"projected"``, ``"isotonic"`` or left signed.
    ridge : float or array of shape (m_Y,)
        The ridge of the model.
    grid : array of int
        The rows on whose grid positivity ``"grid"`` holds.
    """

    problem: Problem
    solution: Solution
    positivity: str
    ridge: float | Vector
    grid: Index


def fit_joint(
    solved: SolvedJoint,
    kept: KeptSample,
    *,
    both: bool = True,
    shown: KeptSample | None = None,
    judges: Judges | None = None,
) -> Joint:
    """Return the joint distribution of solved coefficients, with calibrated projections.

    Parameters
    ----------
    solved : SolvedJoint
        The coefficients.
    kept : KeptSample
        What is kept of the sample.
    both : bool, default=True
        Whether the ridge of projections of X given Y is chosen too; else it is the default.
    shown : KeptSample, optional
        The same sample with sums in the features of the bases, if ``kept`` has others.
    judges : Judges, optional
        What ridges are chosen by where rows depend on each other; by default rows are left
        out one by one.
    """
    problem, solution, positivity = solved.problem, solved.solution, solved.positivity
    ridge = solved.ridge
    x, y, executor = problem.x, problem.y, problem.executor
    H, n, (typical_y, typical_x) = solution.value, kept.size, kept.typical(executor)
    by_y, by_x = _tuned_by(typical_y, typical_x, kept, judges, executor)
    encoding_x, encoding_y = kept.encodings

    def most(support: KernelSupport) -> float:
        points = support.points
        return largest_kernel(support.basis.map, points.rows, points.weights, executor)

    def error(direction: Direction, typical: Typical) -> Direction:
        t = host_features(direction.given, typical.given) @ direction.H.T
        t = t if len(t) else np.zeros((1, len(direction.H)))  # of the marginal
        with one_blas_thread() as one, one:  # the matrices are small
            found = support_error(direction.support, direction.projector, t)
        return replace(direction, support_error=found)

    shown = kept if shown is None else shown
    support_x = problem.support_x(shown.points_x(executor))
    support_y = problem.support_y(shown.points_y(executor))
    of_y = Direction(
        support=support_y,
        given=x,
        encoding=encoding_x,
        H=H,
        positivity=positivity,
        most=most(support_x),
        projector=calibrated(
            Regression(support_y, x, H, np.reshape(ridge, (-1, 1)), n),
            positivity,
            by_y,
        ),
    )
    other = by_x if both else None
    of_x = Direction(
        support=support_x,
        given=y,
        encoding=encoding_y,
        H=H.T,
        positivity=positivity,
        most=most(support_y),
        projector=calibrated(
            Regression(support_x, y, H.T, np.reshape(ridge, (1, -1)), n), positivity, other
        ),
    )
    of_y, of_x = error(of_y, typical_y), error(of_x, typical_x)
    seen = kept.seen(x.map, lambda rows: of_y.conditions(rows).novelty())
    return Joint(problem, kept, solution, ridge, solved.grid, of_y, of_x, seen=seen)


def _tuned_by(
    typical_y: Typical,
    typical_x: Typical,
    kept: KeptSample,
    judges: Judges | None,
    executor: Executor,
) -> tuple[Typical | float | None, Typical | float | None]:
    """Return what the ridges of both projections are chosen by: rows, or ridges themselves."""
    if judges is None:
        return typical_y, typical_x
    found = judged(judges, kept.few_points(executor), executor)
    return judges.ridges if found is None else found
