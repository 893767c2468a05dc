"""How much work a fit is worth: less time, or better forecasts."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["EFFORTS", "Effort", "EffortName"]

EffortName: TypeAlias = Literal["fast", "auto", "best"]


@dataclass(frozen=True, slots=True)
class Search:
    """A search for a length scale for each column, by the evidence of rows.

    An evaluation costs n³: a twentieth of a second for 1,000 rows.

    Attributes
    ----------
    rows, steps : tuple of int
        Rows and steps of the first search, and of the second that starts from its result.
    every : bool
        Whether the second search is for each smoothness, or for the best one alone.
    """

    rows: tuple[int, int]
    steps: tuple[int, int]
    every: bool


@dataclass(frozen=True, slots=True)
class Effort:
    """The work on each part of a forecast.

    Pairs are for few rows, and for many.

    Attributes
    ----------
    search_whole : int
        Rows up to which length scales are searched for once, on all rows.
    search : tuple of Search
        How they are searched for if there are more rows.
    patches : int
        Patches of neighbours by whose evidence length scales of kriging are searched for, or
        zero.
    multiples, ard_multiples : tuple of float
        The factors of the length scales of the median heuristic that are tried, and of those
        that were searched for.
    kernels : tuple of int
        How many kernels are fitted with the full rank. Of many rows one was as good as two
        with the least effort; of few, three were as good as four.
    small_rank : int
        The rank of regressions on few rows.
    largest_rank : int
        The rank of the best of them, if the full rank has brought much.
    boosting : tuple of tuples of float and int
        The learning rate of gradient boosting, and its number of trees.
    repeats : int
        How often few rows are held out in random folds for gradient boosting. Twice instead
        of once: CRPS 1.1 % lower on concrete, 2.6 % on energy; three times: 1.6 and 2.9 %.
    trees : tuple of int
        The trees of a forest.
    direct : bool
        Whether there is a direct model of probabilities beside location and scale.
    direct_rank : tuple of int
        The functions of X of that model.
    direct_folds : int
        The folds by which its ridge is chosen.
    """

    search_whole: int
    search: tuple[Search, Search]
    patches: int
    multiples: tuple[float, ...]
    ard_multiples: tuple[float, ...]
    kernels: tuple[int, int]
    small_rank: int
    largest_rank: int
    boosting: tuple[tuple[float, int], tuple[float, int]]
    repeats: int
    trees: tuple[int, int]
    direct: bool
    direct_rank: tuple[int, int]
    direct_folds: int


EFFORTS: dict[EffortName, Effort] = {
    "fast": Effort(
        search_whole=0,
        search=(
            Search(rows=(300, 300), steps=(15, 0), every=False),
            Search(rows=(400, 700), steps=(15, 15), every=True),
        ),
        patches=64,
        multiples=(2.0,),
        ard_multiples=(1.0,),
        kernels=(2, 1),
        small_rank=400,
        largest_rank=0,
        boosting=((0.15, 120), (0.15, 120)),
        repeats=1,
        trees=(100, 100),
        direct=False,
        direct_rank=(300, 300),
        direct_folds=3,
    ),
    "auto": Effort(
        search_whole=700,
        search=(
            Search(rows=(400, 600), steps=(15, 15), every=False),
            Search(rows=(400, 1000), steps=(30, 40), every=True),
        ),
        patches=128,
        multiples=(1.0, 2.0, 4.0),
        ard_multiples=(1.0, 1.5),
        kernels=(3, 4),
        small_rank=640,
        largest_rank=2048,
        boosting=((0.05, 800), (0.1, 400)),
        repeats=2,
        trees=(300, 200),
        direct=True,
        direct_rank=(600, 1200),
        direct_folds=3,
    ),
    "best": Effort(
        search_whole=1500,
        search=(
            Search(rows=(400, 1500), steps=(30, 40), every=True),
            Search(rows=(400, 1500), steps=(30, 40), every=True),
        ),
        patches=256,
        multiples=(0.5, 1.0, 2.0, 4.0),
        ard_multiples=(1.0, 1.5),
        kernels=(6, 6),
        small_rank=1000,
        largest_rank=4096,
        boosting=((0.05, 800), (0.05, 800)),
        repeats=4,
        trees=(500, 500),
        direct=True,
        direct_rank=(1000, 2500),
        direct_folds=5,
    ),
}
