"""The tuned constants of maximum likelihood."""

import math
from dataclasses import dataclass

__all__ = ["SETTINGS", "LikelihoodSettings", "most_cells", "most_functions"]


@dataclass(frozen=True, slots=True)
class LikelihoodSettings:
    """Constants of maximum likelihood, each with the reason for its value.

    Attributes
    ----------
    cells, many_cells : int
        The largest number of cells of a column of numbers, up to ``many`` rows and beyond,
        where exponentials of all rows and cells would take most of the time.
    trial_cells, trial_cells_of_several : int
        The same of candidates, of one column and of several: a time budget.
    cells_of_several, many_cells_of_several : int
        The largest number of cells of several columns, up to ``few`` rows and beyond: a time
        budget. Fewer are worse: 512 instead of 2,048 cost 0.6 % of the energy score of
        simulated waves, and 256 instead of 800 1 % of that of normal data.
    few : int
        See above.
    functions : int
        The largest number of functions of a column of numbers: 48 brought less than 1 % on
        development splits of UCI sets, in twice the time.
    functions_of_several : int
        The same of several columns: 24 and 96 were worse on waves, by 0.1 and 0.2 %.
    category_functions : int
        The largest number of functions of categories: a time budget.
    rank_scale : float
        The length scale of the kernel on ranks: 0.1 was worse, 0.3 to 1 alike.
    located, located_of_several : tuple of tuples of float
        The weights of outcomes and their squares in the kernel of Y that are tried, of one
        column and of several.
    rank, rank_root, most_rank : float
        Of n rows up to ``rank`` are landmarks, or ``rank_root`` times the root of n if that
        is more, up to ``most_rank``: the likelihood gains with rank, and time is its square.
    trace : float
        The share of the trace that the functions of X may lose, up to ``many`` rows: outcomes
        with little noise need more functions than those of the moments.
    nearby : int
        The largest number of landmarks by which novelty is measured: 8 MB of a model.
    many : int
        Rows from which on functions are those of the moments, and cells fewer.
    adapted : int
        Rows from which on the ridge is chosen again for the final fit.
    kept : int
        Numbers of features that are kept in memory: 2 GiB in single precision.
    kept_on_device : int
        The same on an accelerator: 8 GiB, half the memory of a small one.
    exact : int
        Numbers of features up to which they are kept in double precision: 32 MB. Rounding of
        single precision would show in the seventh digit of answers, and save little here.
    tol, tight_tol : float
        The share of the gain that the program may leave: of large problems, where less hardly
        changes scores, and of those with at most ``exact`` numbers, where it costs little.
    usual_evaluations, most_evaluations : int
        The evaluations of a fit: as many as it usually takes, for the progress bar, and the
        most: ten times as many as large problems take.
    """

    cells: int = 512
    many_cells: int = 200
    trial_cells: int = 128
    trial_cells_of_several: int = 512
    cells_of_several: int = 2048
    many_cells_of_several: int = 1024
    few: int = 5000
    functions: int = 24
    functions_of_several: int = 48
    category_functions: int = 256
    rank_scale: float = 0.3
    located: tuple[tuple[float, float], ...] = ((100.0, 10.0), (0.0, 0.0), (1000.0, 10.0))
    located_of_several: tuple[tuple[float, float], ...] = (
        (10.0, 1.0),
        (100.0, 10.0),
        (0.0, 0.0),
    )
    rank: int = 2000
    rank_root: float = 25.0
    most_rank: int = 6000
    trace: float = 1e-5
    nearby: int = 1024
    many: int = 100_000
    adapted: int = 2000
    kept: int = 1 << 29
    kept_on_device: int = 1 << 31
    exact: int = 1 << 22
    tol: float = 1e-3
    tight_tol: float = 1e-8
    usual_evaluations: int = 30
    most_evaluations: int = 300


SETTINGS = LikelihoodSettings()


def most_cells(n: int, *, several: bool = False) -> int:
    """Return the largest number of cells for n rows.

    Parameters
    ----------
    n : int
        The number of rows.
    several : bool, default=False
        Whether Y has several columns.
    """
    if several:
        many = n > SETTINGS.few
        return SETTINGS.many_cells_of_several if many else SETTINGS.cells_of_several
    return SETTINGS.cells if n <= SETTINGS.many else SETTINGS.many_cells


def most_functions(n: int) -> int:
    """Return the largest number of functions of X for n rows.

    Parameters
    ----------
    n : int
        The number of rows.
    """
    root = int(SETTINGS.rank_root * math.sqrt(n))
    return min(n, max(SETTINGS.rank, root), SETTINGS.most_rank)
