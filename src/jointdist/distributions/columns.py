"""Distributions of some columns: the marginals of joint distributions of several.

The weights stay on the same support points, of which only some columns are seen. All that is
linear in the weights is exact. The density of a proper distribution is a kernel density
estimate of its weights in these columns, with Silverman's bandwidth for its spread and
effective size; that of a signed one has the bandwidth of the sample, as that of a kernel
density estimate of the sample times the local mean of the ratio of the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.encoding import Encoding
from jointdist.distributions import weights as scan
from jointdist.distributions.column_support import ColumnSupport
from jointdist.distributions.joined import Joined
from jointdist.distributions.kde import (
    gaussian_bells,
    mixture_density,
    silverman_widths,
    spread_between,
)
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.location_scale import LocationScale
from jointdist.distributions.mapped import Mapped
from jointdist.distributions.mixture import Mixture
from jointdist.distributions.protocols import Distributions, Projection
from jointdist.distributions.signed import linear_densities, linear_density

__all__ = ["ColumnDistributions", "select_columns"]

_LEAST_WIDTH = 1e-3  # of a density in bandwidths of the sample: a guard against zero
_MANY = 8192  # support points of one column, above which they are put together
_WORKED = 1 << 20  # distances worked on at a time: 8 MB
_CANDIDATES = 32  # groups at which a density is computed to find its mode: a time budget


def select_columns(
    dists: Distributions, columns: Sequence[int], encoding: Encoding | None = None
) -> Distributions:
    """Return the distributions of some columns.

    Parameters
    ----------
    dists : Distributions
        The distributions of all columns.
    columns : sequence of int
        The columns, each once.
    encoding : Encoding, optional
        What they are; by default what they are among all.
    """
    encoding = dists.encoding.take(columns) if encoding is None else encoding
    if isinstance(dists, LinearDistributions):
        return _columns_of(dists, columns, encoding)
    if isinstance(dists, LocationScale):
        chosen = list(columns)
        return replace(
            dists,
            residuals=_columns_of(dists.residuals, chosen, Encoding((None,) * len(chosen))),
            location=dists.location[:, chosen],
            scale=dists.scale[:, chosen],
            encoding=encoding,
            unit=dists.unit[chosen],
        )
    if isinstance(dists, Mixture):
        return replace(dists, base=select_columns(dists.base, columns, encoding))
    if isinstance(dists, Joined):
        parts = (select_columns(part, columns, encoding) for part in dists.parts)
        return replace(dists, parts=tuple(parts))
    if isinstance(dists, Mapped):
        base, chosen = select_columns(dists.base, columns, encoding), list(columns)
        return replace(dists, base=base, low=dists.low[chosen], high=dists.high[chosen])
    msg = f"select_columns: no columns can be chosen of {type(dists).__name__}."
    raise TypeError(msg)


def _columns_of(
    dists: LinearDistributions, columns: Sequence[int], encoding: Encoding
) -> LinearDistributions:
    own = dists.encoding
    if tuple(columns) == tuple(range(own.width)) and encoding == own:
        return dists
    support = ColumnSupport.of(dists.support, columns, encoding)
    return ColumnDistributions(support, dists.conditions, dists.divided, of=dists)


@dataclass(frozen=True, eq=False)
class ColumnDistributions(LinearDistributions):
    """Distributions of some columns of others.

    Attributes
    ----------
    of : LinearDistributions
        The distributions of all columns.
    """

    support: ColumnSupport
    of: LinearDistributions = field(kw_only=True)

    @property
    def is_proper(self) -> bool:
        """Whether no weight can be negative."""
        return self.of.is_proper

    def take(self, rows: Any) -> "ColumnDistributions":
        """Return the chosen distributions."""
        of = self.of.take(rows)
        return replace(self, conditions=of.conditions, of=of)

    def variances(self) -> Vector:
        """Return the variances of columns after division by the mass, ``(q, d)``."""
        found = self._signed_variances()
        return np.maximum(found, 0.0) if self.is_proper else found

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        if not self.is_proper:
            return linear_density(self, self._density_sums, points, paired=paired, log=log)
        if paired:
            return self.densities(points[:, None, :], log=log)[:, 0]
        same = np.broadcast_to(points, (self.conditions.n, *points.shape))
        return self.densities(same, log=log)

    def densities(self, points: Vector, *, log: bool = False) -> Vector:
        """Return densities of each distribution at its own points ``(q, k, d)``."""
        if not self.is_proper:
            return linear_densities(self, self._density_sums, points, log=log)
        squares, sums = self._bandwidths() ** 2, self.support.groups.sums

        def work(t: Vector, mass: Vector, part: slice) -> Vector:
            w = (t @ sums[:, 1:].T + sums[:, 0]) / mass[:, None]
            each = zip(points[part], np.maximum(w, 0.0), squares[part], strict=True)
            return np.stack([self._heights(*one, log=log) for one in each])

        return self.each(work)

    def projection(self) -> Projection | None:
        """Return how far the distributions of all columns moved, if projected."""
        return self.of.projection()

    def _heights(self, points: Vector, w: Vector, square: Vector, *, log: bool) -> Vector:
        """Return the density of one proper distribution at points, or its logarithm."""
        groups = self.support.groups
        variances, step = square + groups.variances, max(_WORKED // len(w), 1)
        parts = (points[start : start + step] for start in range(0, len(points), step))
        found = [mixture_density(at, groups.centres, variances, w, log=log) for at in parts]
        return np.concatenate(found)

    def _bandwidths(self) -> Vector:
        """Return the bandwidths of each proper distribution, ``(q, d)``."""
        spread = spread_between(self.quantile(np.array([0.25, 0.75])), self.variances())
        widths = silverman_widths(
            spread, self.effective_size()[:, None], len(self.support.columns)
        )
        return np.maximum(widths, _LEAST_WIDTH * self.support.sample.density.widths)

    def _density_sums(self, points: Vector) -> Vector:
        r"""Return :math:`\sum_j \omega_j (1, \Psi(y_j)) g(y - y_j)` at points, as rows.

        Of one column of many support points, those of an interval are put together.
        """
        support, density = self.support, self.support.sample.density
        if len(support.columns) == 1 and support.points.n > _MANY:
            groups = support.groups
            widths = density.widths**2 + groups.variances
            step = max(_WORKED // len(groups.centres), 1)
            some = (points[i : i + step] for i in range(0, len(points), step))
            bells = (gaussian_bells(at, groups.centres, widths) for at in some)
            return np.concatenate([bell @ groups.sums for bell in bells])

        def sums(part: slice) -> Vector:
            return support.expectations(lambda z: density.around(z, points[part]).T).T

        parts = scan.slices(support.points.executor.block_rows, len(points))
        return np.concatenate([sums(part) for part in parts])

    def _quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        whole = self.support.columns[column]
        return self.of._quantiles(whole, t, mass, levels)  # noqa: SLF001

    def _cdfs(self, t: Vector, mass: Vector, at: Vector) -> Vector:
        F, _ = self.support.prefix_sums(0).prefix(at)
        found: Vector = (F[:, 0] + np.einsum("qm,qm->q", t, F[:, 1:])) / mass
        return found

    def _peaks(self) -> Index:
        points = self.support.points
        if not self.is_proper:
            chosen = self.support.candidates
            sums = self._density_sums(points.table()[chosen])
            likely = self.each(lambda t, _mass, _: scan.likeliest(sums, t))
            return np.where(likely < 0, -1, chosen[likely])
        groups = self.support.groups
        heights = points.density.at(groups.centres) / groups.sums[:, 0]
        most = min(_CANDIDATES, len(heights))
        squares = self._bandwidths() ** 2

        def work(t: Vector, mass: Vector, part: slice) -> Index:
            w = np.maximum((t @ groups.sums[:, 1:].T + groups.sums[:, 0]), 0.0)
            likely = np.argpartition(-w * heights, most - 1)[:, :most]
            each = zip(likely, w / mass[:, None], squares[part], strict=True)
            best = [
                which[self._heights(groups.centres[which], *one, log=True).argmax()]
                for which, *one in each
            ]
            return groups.central[np.array(best, dtype=np.intp)]

        return self.each(work)
