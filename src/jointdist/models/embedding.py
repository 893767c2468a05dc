r"""The fitted conditional mean embedding: weights on few rows of Y for each condition."""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.design import Design
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.data.sample import Representatives, Sample
from jointdist.data.table import Rows
from jointdist.distributions.averaged import Averaged
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.embedded import Embedded
from jointdist.distributions.groups import Groups
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.protocols import LinearConditions
from jointdist.distributions.seen import About, Seen
from jointdist.errors import InfeasibleError
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.kernel_range import largest_kernel
from jointdist.lowrank.novelty import TRUSTED
from jointdist.lowrank.ridge import leave_one_out_residuals
from jointdist.models.embedding_folds import SolvedEmbedding, embedding_without_folds
from jointdist.models.event_rows import WeightedRows, mean_features
from jointdist.models.fold_calibration import Judges
from jointdist.models.kept_sample import KeptSample
from jointdist.models.pivot_support import pivot_support, summed_weights
from jointdist.programs import Solution, Status
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.projected import Projector
from jointdist.projection.settings import SETTINGS

__all__ = ["Embedding", "SolvedEmbedding", "fit_embedding"]

_LEAST_MASS = 0.1  # of an embedding that has any skill; less says next to nothing


@dataclass(frozen=True, eq=False, kw_only=True)
class Embedding:
    r"""Conditional distributions as weights on support points: a small value, only read.

    Attributes
    ----------
    where : str
        The estimator, for messages.
    kept : KeptSample
        What is kept of the sample.
    solution : Solution
        The solution of the program.
    basis_x : Basis
        The functions of X.
    support : CellSupport
        The support points: the pivots of Y, or all its rows.
    weights : array of shape (k, m_X)
        The weights of the support points, as coefficients of the functions of X.
    positivity : str
        Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
    most : float
        The largest kernel of a row of X.
    projector : Projector or IsotonicProjector, optional
        What projects signed distributions, calibrated; None if they stay signed.
    seen : Seen, optional
        The range and the novelty of the rows of X; None if not known.
    ridge : float, optional
        The ridge; None in files of older versions.
    """

    where: str
    kept: KeptSample
    solution: Solution
    basis_x: Basis
    support: CellSupport
    weights: Vector
    positivity: str
    most: float
    projector: Projector | IsotonicProjector | None
    seen: Seen | None = None
    ridge: float | None = None

    @property
    def tuned(self) -> tuple[float | None, float | None]:
        """The ridge of the projections of Y given X, and that of none."""
        own = self.projector
        return own.ridge if isinstance(own, Projector) else None, None

    def of_y(self, x: Rows) -> LinearDistributions:
        """Return the distributions of Y given rows of X."""
        return self._proper(self._conditions(x))

    def of_y_averaged(self, x: Rows, groups: Groups) -> LinearDistributions:
        """Return averages of the distributions of Y given rows of X, projected afterwards."""
        return self._proper(Averaged(self._conditions(x), groups))

    def of_y_within(self, x: WeightedRows) -> LinearDistributions:
        """Return the distribution of Y given that X is one of some rows."""
        mean = mean_features(self.basis_x, x, self.support.points.executor)
        return self._proper(Fixed(len(self.weights) * (self.weights @ mean)[None, :] - 1.0))

    def _conditions(self, x: Rows) -> Queries:
        """Return rows as conditions; if projected, they revert out of distribution."""
        projected = self.projector is not None
        return Queries(
            x,
            self.basis_x,
            len(self.weights) * self.weights.T,
            self.support.points.executor,
            self.kept.encodings[0],
            offset=-1.0,
            trusted=TRUSTED * (1 - self.basis_x.relative_error) if projected else 0.0,
            most=self.most,
            about=self.about_x,
        )

    @property
    def about_x(self) -> About | None:
        """What is known about rows of X: their range, and their leverage."""
        if self.ridge is None:
            return None
        n = self.kept.size
        c = to_numpy(self.basis_x.eigenvalues) / n + self.ridge
        inverse = np.divide(1.0, n * c, out=np.zeros_like(c), where=c > 0)
        return About(self.seen, inverse, 0.0)

    def _proper(self, conditions: LinearConditions) -> LinearDistributions:
        if self.solution.status is Status.INFEASIBLE:
            msg = f"{self.where}: {self.solution.status.value}"
            raise InfeasibleError(msg)
        if self.projector is None:
            return Embedded(self.support, conditions, divided=False)
        return self.projector.project(Embedded(self.support, conditions))

    @property
    def design_x(self) -> Design:
        """What became of the columns of X."""
        return self.kept.design

    @property
    def points_x(self) -> WeightedRows:
        """The support points of X."""
        points = self.kept.points_x(self.support.points.executor)
        return WeightedRows(points.rows, points.shares)

    @property
    def donors_x(self) -> WeightedRows:
        """Some rows of X, whose entries take the place of missing ones."""
        return self.kept.donors

    def marginal_scores(self, y: Vector) -> Vector:
        """Return the energy scores of the marginal distribution of Y at outcomes."""
        sample = self.support.sample
        return marginal_scores(sample, y, sample.units())

    def energy_scores(self, dists: LinearDistributions, y: Vector) -> tuple[Vector, Vector]:
        """Return the energy scores of distributions of Y, and of the marginal.

        A distribution with hardly any mass has the score of the marginal.
        """
        unit, other = self.support.sample.units(), self.marginal_scores(y)
        known = dists.masses() > _LEAST_MASS
        if not known.any():
            return other, other
        own = other.copy()
        own[known], _ = dists.take(known).energy_scores(y[known], unit=unit)
        return own, other


def fit_embedding(
    kept: KeptSample,
    solved: SolvedEmbedding,
    positivity: str,
    executor: Executor,
    judges: Judges | None = None,
) -> Embedding:
    """Return the embedding with weights on points, with calibrated projections.

    Equal points count together.

    Parameters
    ----------
    kept : KeptSample
        What is kept of the sample.
    solved : SolvedEmbedding
        The weights.
    positivity : str
        Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
    executor : Executor
        Runs the row blocks.
    judges : Judges, optional
        What projections are calibrated by, where rows depend on each other.
    """
    where, (basis_x, basis_y) = kept.pairs.x.where, solved.bases
    whole, given = kept.points_y(executor), kept.points_x(executor)
    support, which = pivot_support(solved.points, whole)
    projector: Projector | IsotonicProjector | None = None
    if positivity == "isotonic":
        projector = IsotonicProjector.on(support, where)
    elif positivity == "projected":
        sample = KernelSupport.of(whole, basis_y, solved.mean)
        projector = _tuned(Projector.on(support, sample), kept, solved, which, judges)
    fitted = Embedding(
        where=where,
        kept=kept,
        solution=solved.solution,
        basis_x=basis_x,
        support=support,
        weights=summed_weights(solved.weights, which),
        positivity=positivity,
        most=largest_kernel(basis_x.map, given.rows, given.weights, executor),
        projector=projector,
        ridge=solved.ridge,
    )
    novelty = lambda rows: fitted._conditions(rows).novelty()  # noqa: E731, SLF001
    return replace(fitted, seen=kept.seen(basis_x.map, novelty))


def _tuned(
    projector: Projector,
    kept: KeptSample,
    solved: SolvedEmbedding,
    which: Index,
    judges: Judges | None,
) -> Projector:
    """Return the projector whose ridge has the best leave-one-out score."""
    executor = projector.signed.points.executor
    sample = kept.all_rows if solved.in_full else kept.few_pairs
    if not sample.n:  # no pair is left in the sample
        return projector
    few = None if solved.in_full else kept.few_points(executor)[1]
    if judges is None:
        typical = sample.representatives(SETTINGS.tuning_rows)
        points, weights = to_numpy(sample.y.take(typical.rows)), typical.weights
        left_out = _leave_one_out(sample, kept.size, solved, typical)
    elif judges.sample is None:
        ridge = judges.ridges[0]
        return projector if ridge is None else projector.with_ridge(ridge)
    else:
        points, weights, left_out = embedding_without_folds(
            judges.sample, kept.size, solved, executor
        )
    with one_blas_thread() as one, one:  # the matrices are small
        summed = summed_weights(left_out.T, which)
        left_out = len(summed) * summed.T - 1
        judge = projector if few is None else projector.on_fewer(few)
        ridge = judge.best_ridge(left_out, points, weights, follow=True)
    return projector.with_ridge(ridge)


def _leave_one_out(
    sample: Sample, n: float, solved: SolvedEmbedding, typical: Representatives
) -> Vector:
    r"""Return the weights of points at rows, of the model fitted without each.

    An embedding is a ridge regression of the functions of Y, so that this is closed form.
    """
    rows, w = typical.rows, typical.own
    (basis_x, basis_y), each = solved.bases, np.arange(len(rows))
    psi = host_features(basis_x, sample.x.take(rows))
    if solved.in_full:
        found = psi @ solved.weights.T
        whole = np.ones(len(rows)) if sample.weights is None else sample.weights[rows]
        h = found[each, rows] * w / whole
        own = np.zeros_like(found)
        own[each, rows] = 1.0
    else:
        c = to_numpy(basis_x.eigenvalues) / n
        h = psi**2 @ (1 / (c + solved.ridge)) * w / n
        own = host_features(basis_y, sample.y.take(rows))
        found = psi @ solved.solution.value.T
    found = own - leave_one_out_residuals(own - found, h[:, None])
    if not solved.in_full:
        found = found @ to_numpy(basis_y.expansion).T
    return found
