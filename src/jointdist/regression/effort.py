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
    ard_shared : bool
        Whether one search serves kernels of all smoothnesses.
    ard_all_rows : int
        Rows from which the second search is for each smoothness; of fewer rows it is for the
        best one alone.
    ard_many_steps : tuple of int
        The steps from that number of rows on.
    multiples, ard_multiples : tuple of float
        The factors of the length scales of the median heuristic that are tried, and of those
        that were searched for.
    kernels : int
        How many kernels are fitted with the full rank.
    largest_rank : int
        The rank of the best of them, if the full rank has brought much.
    boosting : tuple of tuples of float and int
        The learning rate of gradient boosting, and its number of trees, for few rows and for
        many.
    trees : int
        The trees of a forest.
    direct : bool
        Whether there is a direct model of probabilities beside location and scale.
    direct_rank : tuple of int
        The functions of X of that model for few rows, and for many.
    direct_folds : int
        The folds by which its ridge is chosen.
    """

    ard_rows: tuple[int, int]
    ard_steps: tuple[int, int]
    ard_shared: bool
    ard_all_rows: int
    ard_many_steps: tuple[int, int]
    multiples: tuple[float, ...]
    ard_multiples: tuple[float, ...]
    kernels: int
    largest_rank: int
    boosting: tuple[tuple[float, int], tuple[float, int]]
    trees: int
    direct: bool
    direct_rank: tuple[int, int]
    direct_folds: int


EFFORTS: dict[EffortName, Effort] = {
    "fast": Effort(
        ard_rows=(400, 400),
        ard_steps=(15, 0),
        ard_shared=True,
        ard_all_rows=0,
        ard_many_steps=(15, 0),
        multiples=(2.0,),
        ard_multiples=(1.0,),
        kernels=2,
        largest_rank=0,
        boosting=((0.15, 120), (0.15, 120)),
        trees=100,
        direct=False,
        direct_rank=(300, 300),
        direct_folds=3,
    ),
    "auto": Effort(
        ard_rows=(400, 1000),
        ard_steps=(15, 15),
        ard_shared=False,
        ard_all_rows=2000,
        ard_many_steps=(30, 40),
        multiples=(1.0, 2.0, 4.0),
        ard_multiples=(1.0, 1.5),
        kernels=4,
        largest_rank=2048,
        boosting=((0.05, 800), (0.1, 400)),
        trees=200,
        direct=True,
        direct_rank=(600, 1200),
        direct_folds=3,
    ),
    "best": Effort(
        ard_rows=(400, 1500),
        ard_steps=(30, 40),
        ard_shared=False,
        ard_all_rows=0,
        ard_many_steps=(30, 40),
        multiples=(0.5, 1.0, 2.0, 4.0),
        ard_multiples=(1.0, 1.5),
        kernels=6,
        largest_rank=4096,
        boosting=((0.05, 800), (0.05, 800)),
        trees=500,
        direct=True,
        direct_rank=(1000, 2500),
        direct_folds=5,
    ),
}
