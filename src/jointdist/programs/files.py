"""The values of this room that a file can hold: solutions of programs, exponential tilts."""

from typing import Any

import numpy as np

from jointdist._array import to_numpy
from jointdist._rules import Text, require
from jointdist.data.codec import (
    AnyShape,
    Choice,
    Either,
    Floats,
    Mapping,
    Number,
    Schema,
    Value,
    Whole,
)
from jointdist.programs.log_ratio import LogRatioSolution
from jointdist.programs.logistic import LogisticSolution
from jointdist.programs.solution import Certificate, Solution, Status
from jointdist.programs.sos import SumOfSquares
from jointdist.programs.tilting import Exponential

__all__ = ["register_programs"]

_SMALLEST = float(np.finfo(np.float64).tiny)
# The smallest ridge of a tilt: a thousandth of the smallest that is ever chosen. With less, the
# Newton step of features of variance one could be singular.
_LEAST_RIDGE = 1e-9
# How far shares may be from sum one: rounding of the sum of 10^9 of them.
_ROUNDING = 1e-6


def register_programs(schema: Schema) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    any_number = Number(infinite=True, missing=True)
    schema.register(
        Certificate,
        "certificate",
        stationarity=any_number,
        feasibility=any_number,
        complementarity=any_number,
        gap=any_number,
    )
    solved: dict[str, Any] = {
        "value": Floats("k", "m"),
        "objective": any_number,
        "status": Choice(*Status),
        "certificate": Value(Certificate),
        "multipliers": Mapping(Either(any_number, AnyShape())),
        "iterations": Whole(least=0),
    }
    schema.register(Solution, "solution", **solved)
    schema.register(SumOfSquares, "sum_of_squares", **solved, gram=Floats("s", "s"))
    schema.register(LogisticSolution, "logistic_solution", **solved, intercept=Floats("k"))
    schema.register(
        LogRatioSolution,
        "log_ratio_solution",
        **solved,
        intercept=Floats("cells"),
        missing=any_number,
    )
    schema.register(
        Exponential,
        "exponential",
        check=_check_exponential,
        features=Floats("k", "r"),
        shares=Floats("k", least=_SMALLEST, most=1 + _ROUNDING),
        ridge=Floats("r", least=_LEAST_RIDGE),
    )


def _check_exponential(family: Exponential) -> None:
    total = float(to_numpy(family.shares).sum())
    one = abs(total - 1) <= _ROUNDING
    require(one, "Exponential", "shares", "of sum one", Text(f"{total:g}"))
