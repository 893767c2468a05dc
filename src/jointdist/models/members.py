"""The members of pools of distributions, as users see them."""

from typing import NamedTuple

from jointdist._array import Vector

__all__ = ["MEMBERS", "Member", "members_of"]

MEMBERS = "location-scale", "direct", "forest"


class Member(NamedTuple):
    """A member of a pool of distributions.

    Attributes
    ----------
    name : str
        ``"location-scale"``: location plus scale times a residual; ``"direct"``: a model of
        the probabilities of outcomes; ``"forest"``: a quantile regression forest.
    weight : float
        Its weight in the pool.
    score : float
        The mean score of its own out-of-fold distributions: the CRPS, or the energy score of
        several outcomes or of categories, of numbers in units of their standard deviations.
        NaN if it is alone, as nothing was compared.
    """

    name: str
    weight: float
    score: float


def members_of(names: list[str], weights: Vector, scores: Vector) -> list[Member]:
    """Return the members that have weight.

    Parameters
    ----------
    names : list of str
        The names of the members.
    weights, scores : array of shape (k,)
        Their weights and scores.
    """
    each = zip(names, weights.tolist(), scores.tolist(), strict=True)
    return [Member(*one) for one in each if one[1] > 0]
