"""The support of a kernel model: its sample, with the functions of a basis."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Vector, to_numpy
from jointdist.distributions.function_support import FunctionSupport
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.basis import Basis, host_features

__all__ = ["KernelSupport"]


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSupport(FunctionSupport):
    r"""The sample of a kernel model, with the functions of a basis.

    Attributes
    ----------
    basis : Basis
        The functions :math:`\Psi`.
    """

    basis: Basis

    @staticmethod
    def of(
        points: SupportPoints, basis: Basis, mean: Vector, powers: Vector | None = None
    ) -> "KernelSupport":
        """Return the sample of a model as a support.

        Parameters
        ----------
        points : SupportPoints
            The sample.
        basis : Basis
            The functions.
        mean : array of shape (m,)
            Their means over the sample, zero if the basis is centred.
        powers : array of shape (1 + m, q), optional
            As in :class:`Support`.
        """
        return KernelSupport(
            points=points,
            sample=points,
            origin=to_numpy(basis.map.origin),
            mean=mean,
            powers=powers,
            basis=basis,
        )

    @property
    def cell_means(self) -> Vector | None:
        """The means of the functions over the cells of merged rows, ``(K, m)``, if known."""
        merged = self.points.merged
        if merged is None or merged.cells is None:
            return None
        mean, V = to_numpy(self.basis.mean), to_numpy(self.basis.rotation)
        found: Vector = (merged.cells.features - mean) @ V
        return found

    def features(self, z: Array) -> Vector:
        """Return the functions at points, as rows."""
        return host_features(self.basis, z)

    def _sum_squares(self) -> Vector:
        points = self.points
        if not points.equal:
            return super()._sum_squares()
        inner = np.diag(to_numpy(self.basis.eigenvalues) / points.count)
        mean = self.mean[None, :]
        return np.block([[np.ones((1, 1)), mean], [mean.T, inner]]) / points.count
