"""Sums over rows of moments and of the support, which add and subtract."""

from dataclasses import dataclass

from jointdist.lowrank.moments import Moments
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.support_sums import SupportSums

__all__ = ["Sums"]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over rows: they add and subtract.

    Attributes
    ----------
    moments : Moments
        The moments of the features of both sides.
    support : SupportSums, optional
        The sums of the support of both sides, if they are collected.
    """

    moments: Moments
    support: SupportSums | None = None

    def taken(self, x: Features, y: Features) -> "Sums":
        """Return the sums of the first features of both sides.

        Parameters
        ----------
        x, y : Features
            The maps to these features.
        """
        support = None if self.support is None else self.support.taken(x.rank, y.rank)
        return Sums(self.moments.taken(x, y), support)

    def combine(self, other: "Sums", *, reuse: bool = False) -> "Sums":
        """Return the sums of the rows of both.

        Parameters
        ----------
        other : Sums
            Sums of the same features and frame.
        reuse : bool, default=False
            Whether the memory of these sums may be used; they are lost then.
        """
        both = self.moments + other.moments
        if self.support is None or other.support is None:
            return Sums(both)
        return Sums(both, self.support.combine(other.support, reuse=reuse))
