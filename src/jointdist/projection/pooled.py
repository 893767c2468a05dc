"""Mixtures of conditional distributions that are known on support points, or not."""

from dataclasses import dataclass, replace

import numpy as np

from jointdist.distributions.averaged import Averaged, Grouped
from jointdist.distributions.groups import Groups
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.mixture import Mixture
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.support import LEAST_MASS
from jointdist.projection.proper import ProperDistributions

__all__ = ["Pooled", "pooled"]


@dataclass(frozen=True, eq=False)
class Pooled(ProperDistributions):
    """Mixtures of proper distributions on the same cells: their weights are averaged."""

    def projection(self) -> None:
        """Return None: mixtures of projected distributions are not projected."""


def pooled(dists: Distributions, groups: Groups) -> Distributions:
    """Return the mixtures of distributions in groups.

    Parameters
    ----------
    dists : Distributions
        The components, group by group.
    groups : Groups
        The groups and the shares of the components.
    """
    if not isinstance(dists, LinearDistributions):
        return Mixture(dists, groups, Grouped(dists.conditions, groups))
    if isinstance(dists, ProperDistributions):
        return Pooled(dists.support, Averaged(dists.conditions, groups), dists.divided)
    if dists.divided and np.any(dists.support.mean):
        mass = dists.masses()  # each component is divided by its own
        groups = groups.reweighted(np.where(mass > LEAST_MASS, 1 / mass, 0.0))
    return replace(dists, conditions=Averaged(dists.conditions, groups))
