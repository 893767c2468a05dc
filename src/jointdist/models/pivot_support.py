"""Pivots of Y as the support points of conditional mean embeddings."""

import numpy as np

from jointdist._array import Array, Index, Vector, like, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.embedded import Embedded
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.features import FeatureMap
from jointdist.selection.risk import Outcomes

__all__ = ["embedded_outcomes", "pivot_support", "plain_basis", "summed_weights"]


def embedded_outcomes(
    pivots: Array,
    encoding: Encoding,
    rows: Sample,
    held: Sample,
    executor: Executor,
    *,
    divided: bool,
) -> tuple[Index, Outcomes]:
    """Return the support point of each pivot, and held-out outcomes as an embedding sees them.

    The mass that a signed embedding lacks is at zero, as it is for its means; the mass that
    one lacks which is divided by its mass is at the mean of the sample.

    Parameters
    ----------
    pivots : Array of shape (k, d_y)
        The rows of Y that have weight.
    encoding : Encoding
        The columns of Y.
    rows : Sample
        The rows that the embedding is fitted to.
    held : Sample
        The held-out rows.
    executor : Executor
        Runs the row blocks.
    divided : bool
        Whether distributions will be divided by their mass.
    """
    whole = SupportPoints(rows.y, encoding, rows.weights, executor)
    support, which = pivot_support(pivots, whole)
    points, rest = to_numpy(held.y.read(0, held.n)), None
    if divided:
        rest = support.sample.shares @ support.sample.table()
    outcomes = Outcomes(
        support,
        points,
        held.weights,
        kind=Embedded,
        divided=False,
        offset=-1.0,
        rest=rest,
    )
    return which, outcomes


def pivot_support(points: Array, whole: SupportPoints) -> tuple[CellSupport, Index]:
    """Return the distinct points as support points, and which of them each point is.

    Parameters
    ----------
    points : Array of shape (k, d_y)
        The rows of Y that have weight.
    whole : SupportPoints
        The sample that the embedding is fitted to.
    """
    distinct, which = np.unique(to_numpy(points), axis=0, return_inverse=True)
    rows = Rows(distinct, whole.rows.where, whole.rows.name)
    pivots = SupportPoints(rows, whole.encoding, None, whole.executor)
    return CellSupport.of_each(pivots, whole), which.ravel()


def summed_weights(weights: Vector, which: Index) -> Vector:
    """Return the sums of the weights of equal points.

    Parameters
    ----------
    weights : array of shape (k, m)
        The weights of the points.
    which : array of shape (k,)
        Which points are equal.
    """
    total = np.zeros((which.max() + 1, weights.shape[1]))
    np.add.at(total, which, weights)
    return total


def plain_basis(features: FeatureMap) -> Basis:
    """Return features as they are, as a basis.

    Parameters
    ----------
    features : FeatureMap
        The features.
    """
    core = features.core
    m = features.rank
    eye = like(np.eye(m), core)
    ones, zeros = like(np.ones(m), core), like(np.zeros(m), core)
    return Basis(features, eye, ones, zeros, np.empty(0, np.intp), 0.0, 0.0)
