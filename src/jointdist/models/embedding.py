r"""The fitted conditional mean embedding: weights on few rows of Y for each condition."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Queries
from jointdist.distributions.embedded import Embedded
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.marginal import marginal_scores
from jointdist.errors import InfeasibleError
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.kernel_range import largest_kernel
from jointdist.lowrank.novelty import TRUSTED
from jointdist.lowrank.ridge import leave_one_out_residuals
from jointdist.models._arguments import PairedData
from jointdist.models.pivot_support import pivot_support, summed_weights
from jointdist.programs import Solution, Status
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.projected import Projector
from jointdist.projection.settings import SETTINGS

__all__ = ["Embedding"]

_LEAST_MASS = 0.1  # of an embedding that has any skill; less says next to nothing


@dataclass(frozen=True, eq=False, kw_only=True)
class Embedding:
    r"""Conditional distributions as weights on support points, linear in features of X.

    Attributes
    ----------
    where : str
        The estimator, for messages.
    encodings : tuple of Encoding
        The columns of X and Y.
    sample : Sample
        The rows that the model was fitted to.
    solution : Solution
        The solution of the program.
    basis_x : Basis
        The functions of X.
    basis_y : Basis
        Functions of Y, whose means projections match.
    support : CellSupport
        The support points: the pivots of Y, or all its rows.
    which : array of int
        The support point of each pivot or row.
    weights : array of shape (k, m_X)
        The weights of the support points, as coefficients of the functions of X.
    row_weights : array of shape (n, m_X), optional
        The same for all rows; of the full estimator only.
    ridge : float
        The ridge.
    positivity : str
        Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
    executor : Executor
        Runs the row blocks.
    """

    where: str
    encodings: tuple[Encoding, Encoding]
    sample: Sample
    solution: Solution
    basis_x: Basis
    basis_y: Basis
    support: CellSupport
    which: Index
    weights: Vector
    row_weights: Vector | None
    ridge: float
    positivity: str
    executor: Executor

    @staticmethod
    def of(
        data: PairedData,
        solution: Solution,
        bases: tuple[Basis, Basis],
        points: Array,
        weights: Vector,
        *,
        ridge: float,
        positivity: str,
        executor: Executor,
        row_weights: Vector | None = None,
    ) -> "Embedding":
        """Return the embedding with weights on points; equal points count together.

        Parameters
        ----------
        data : PairedData
            The rows of the fit.
        solution : Solution
            The solution of the program.
        bases : tuple of Basis
            Functions of X and Y.
        points : Array of shape (k, d_y)
            The rows of Y that have weight.
        weights : array of shape (k, m_X)
            Their weights, as coefficients of the functions of X.
        ridge : float
            The ridge.
        positivity : str
            Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
        executor : Executor
            Runs the row blocks.
        row_weights : array of shape (n, m_X), optional
            Weights of all rows, of the full estimator.
        """
        sample = data.sample
        support, which = pivot_support(points, data.encodings[1], sample, executor)
        return Embedding(
            where=sample.x.where,
            encodings=data.encodings,
            sample=sample,
            solution=solution,
            basis_x=bases[0],
            basis_y=bases[1],
            support=support,
            which=which,
            weights=summed_weights(weights, which),
            row_weights=row_weights,
            ridge=ridge,
            positivity=positivity,
            executor=executor,
        )

    def of_y(self, x: Rows) -> LinearDistributions:
        """Return the distributions of Y given rows of X."""
        if self.solution.status is Status.INFEASIBLE:
            msg = f"{self.where}: {self.solution.status.value}"
            raise InfeasibleError(msg)
        H = len(self.weights) * self.weights.T
        conditions = Queries(
            x,
            self.basis_x,
            H,
            self.executor,
            self.encodings[0],
            offset=-1.0,
            most=self._largest_kernel,
        )
        if self.positivity not in ("projected", "isotonic"):
            return Embedded(self.support, conditions, divided=False)
        trusted = TRUSTED * (1 - self.basis_x.relative_error)
        signed = Embedded(self.support, replace(conditions, trusted=trusted))
        return self.projector.project(signed)

    @cached_property
    def _largest_kernel(self) -> float:
        weights = self.sample.weights
        return largest_kernel(self.basis_x.map, self.sample.x, weights, self.executor)

    @cached_property
    def projector(self) -> Projector | IsotonicProjector:
        """What projects signed distributions; its ridge has the best leave-one-out score."""
        if self.positivity == "isotonic":
            return IsotonicProjector.on(self.support, self.where)
        rows, weights, basis = self.sample.y, self.sample.weights, self.basis_y
        typical = self.sample.representatives(SETTINGS.tuning_rows)
        points = to_numpy(rows.take(typical.rows))
        w = np.full(rows.n, 1.0) if weights is None else weights
        mean: Vector = w @ host_features(basis, rows.read(0, rows.n)) / w.sum()
        sample = KernelSupport.of(self.support.sample, basis, mean)
        projector = Projector.on(self.support, sample)
        left_out = self._leave_one_out(typical.rows, typical.own)
        return projector.tuned(left_out, points, typical.weights)

    def _leave_one_out(self, rows: Index, w: Vector) -> Vector:
        r"""Return the coefficients at rows of the model fitted without each, in closed form.

        An embedding is a ridge regression of the functions of Y.
        """
        sample, n, each = self.sample, self.sample.size, np.arange(len(rows))
        psi = host_features(self.basis_x, sample.x.take(rows))
        if self.row_weights is None:
            c = to_numpy(self.basis_x.eigenvalues) / n
            h = psi**2 @ (1 / (c + self.ridge)) * w / n
            own = host_features(self.basis_y, sample.y.take(rows))
            found = psi @ self.solution.value.T
        else:
            found = psi @ self.row_weights.T
            whole = np.ones(len(rows)) if sample.weights is None else sample.weights[rows]
            h = found[each, rows] * w / whole
            own = np.zeros_like(found)
            own[each, rows] = 1.0
        found = own - leave_one_out_residuals(own - found, h[:, None])
        if self.row_weights is None:
            found = found @ to_numpy(self.basis_y.expansion).T
        weights = summed_weights(found.T, self.which)
        return len(weights) * weights.T - 1

    def energy_scores(self, x: Rows, y: Vector) -> tuple[Vector, Vector]:
        """Return the energy scores of the distributions at rows, and of the marginal.

        A distribution with hardly any mass has the score of the marginal.
        """
        sample, dists = self.support.sample, self.of_y(x)
        unit = sample.units()
        other = marginal_scores(sample, y, unit)
        known = dists.masses() > _LEAST_MASS
        if not known.any():
            return other, other
        own = other.copy()
        own[known], _ = dists.take(known).energy_scores(y[known], unit=unit)
        return own, other
