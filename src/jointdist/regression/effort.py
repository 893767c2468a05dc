"""How much work a fit is worth: less time, or better forecasts."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["EFFORTS", "Effort", "EffortName"]

EffortName: TypeAlias = Literal["fast", "auto", "best"]


@dataclass(frozen=True, slots=True)
class Effort:
    """The work on each part of a forecast.

    Attributes
    ----------
    ard_rows, ard_steps : tuple of int
        Rows and steps of the first and of the second search for a length scale for each
        column. An evaluation costs n³: a tenth of a second for 1,000 rows.
    ard_of_each : int
        Rows up to which each smoothness of a kernel has a search of its own; beyond, all have
        the length scales of one.
    multiples, ard_multiples : tuple of float
        The factors of the length scales of the median heuristic that are tried, and of those
        that were searched for.
    kernels : int
        How many kernels are fitted with the full rank.
    boosting_rate, boosting_rounds : float, int
        The learning rate of gradient boosting, and its number of trees.
    trees : int
        The trees of a forest.
    direct : bool
        Whether there is a direct model of probabilities.
    direct_rank, direct_folds : int
        The functions of X of that model, and the folds by which its ridge is chosen.
    """

    ard_rows: tuple[int, int]
    ard_steps: tuple[int, int]
    ard_of_each: int
    multiples: tuple[float, ...]
    ard_multiples: tuple[float, ...]
    kernels: int
    boosting_rate: float
    boosting_rounds: int
    trees: int
    direct: bool
    direct_rank: int
    direct_folds: int


EFFORTS: dict[EffortName, Effort] = {
    "fast": Effort(
        ard_rows=(400, 400),
        ard_steps=(15, 0),
        ard_of_each=0,
        multiples=(2.0,),
        ard_multiples=(1.0,),
        kernels=2,
        boosting_rate=0.15,
        boosting_rounds=120,
        trees=100,
        direct=False,
        direct_rank=0,
        direct_folds=0,
    ),
    "auto": Effort(
        ard_rows=(400, 1000),
        ard_steps=(15, 15),
        ard_of_each=400,
        multiples=(1.0, 2.0, 4.0),
        ard_multiples=(1.0, 1.5),
        kernels=4,
        boosting_rate=0.1,
        boosting_rounds=400,
        trees=200,
        direct=True,
        direct_rank=600,
        direct_folds=3,
    ),
    "best": Effort(
        ard_rows=(400, 1500),
        ard_steps=(30, 40),
        ard_of_each=1 << 62,
        multiples=(0.5, 1.0, 2.0, 4.0),
        ard_multiples=(1.0, 1.5),
        kernels=6,
        boosting_rate=0.05,
        boosting_rounds=800,
        trees=500,
        direct=True,
        direct_rank=2000,
        direct_folds=5,
    ),
}
