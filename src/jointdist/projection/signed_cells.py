"""Signed distributions on the cells that they are projected on, and what a report compares."""

from typing import NamedTuple

import numpy as np

from jointdist._array import Array, Vector
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.support import Support
from jointdist.projection.settings import SETTINGS

__all__ = ["SignedCells", "report_rows"]


class SignedCells(NamedTuple):
    r"""The weights of cells under signed distributions.

    Attributes
    ----------
    sums : array of shape (1 + m, K)
        The sums of :math:`\omega (1, \Psi)` over the support points in each cell.
    mean : array of shape (m,)
        The means of the functions of the signed distributions.
    shares : array of shape (K,)
        The weights of the cells in the sample.
    """

    sums: Vector
    mean: Vector
    shares: Vector

    @staticmethod
    def of(signed: Support, cells: CellSupport) -> "SignedCells":
        """Return the sums over cells.

        Parameters
        ----------
        signed : Support
            The support of the signed distributions: the points of the cells, or some of them.
        cells : CellSupport
            The cells.
        """
        known = signed.cell_means
        if known is not None and signed.points is cells.points:
            ones = np.insert(known, 0, 1.0, axis=1) * cells.mean[:, None]
            if len(ones) == cells.rank:
                return SignedCells(ones.T, signed.mean, cells.mean)
        same = signed.points is cells.points
        cell = cells.cell if same else cells.cell_of(signed.points)

        def block(start: int, z: Array) -> Vector:
            rows = np.arange(start, start + z.shape[0])
            return cells.added(cell[rows], signed.weighted(rows))

        sums = sum(signed.points.executor.map(block, signed.points.rows))
        return SignedCells(np.asarray(sums).T, signed.mean, cells.mean)

    def weights(self, t: Vector) -> Vector:
        """Return the weights of cells ``(q, K)``; the marginal fills up missing mass.

        Parameters
        ----------
        t : array of shape (q, m)
            The coefficients of signed distributions.
        """
        found: Vector = t @ self.sums[1:] + self.sums[0]
        mass = 1 + t @ self.mean
        whole = np.maximum(mass, SETTINGS.least_mass)[:, None]
        found += (whole - mass[:, None]) * self.shares
        return found / whole


def report_rows(missed: Vector, w: Vector, signed: Vector, cells: CellSupport) -> Vector:
    """Return the largest error, the total variation, the divergence and the effective size.

    Parameters
    ----------
    missed : array of shape (q, r)
        The errors of matched means.
    w, signed : arrays of shape (q, K)
        The weights of the cells, projected and signed.
    cells : CellSupport
        The cells.

    Returns
    -------
    array of shape (q, 4)
        The numbers of a :class:`~jointdist.distributions.protocols.Projection`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(w > 0, np.log(w / cells.mean), 0.0)
    return np.stack(
        [
            np.abs(missed).max(axis=1, initial=0.0),
            np.abs(w - signed).sum(axis=1) / 2,
            (w * logs).sum(axis=1),
            1 / cells.squared_weights(w / cells.mean - 1),
        ],
        axis=1,
    )
