"""The tuned constants of pools."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "PoolSettings"]


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Constants of pools, each with the reason for its value.

    Attributes
    ----------
    rows : int
        The most rows that members other than location and scale are learned from: a time
        budget.
    weighed : int
        The most rows whose out-of-fold distributions weigh the members: a time budget.
    categories : int
        The most frequent categories of Y that trees split by: others are rare.
    least_rows : int
        The rows from which discrete outcomes have a pool; a round number.
    direct_trace : float
        The share of the trace that they may lose, as for maximum likelihood.
    """

    rows: int = 50_000
    weighed: int = 2048
    categories: int = 16
    least_rows: int = 50
    direct_trace: float = 1e-5


SETTINGS = PoolSettings()
