"""Checks that programs share."""

from jointdist.errors import Text, require
from jointdist.programs.objective import Objective
from jointdist.programs.solution import Solution

__all__ = ["require_start"]


def require_start(where: str, start: Solution | None, objective: Objective) -> None:
    """Require a start, if there is one, with as many coefficients as the objective."""
    shape = objective.b.shape
    if start is not None:
        got = Text(f"one of shape {start.value.shape}")
        same = start.value.shape == shape
        require(same, where, "start", f"a solution of shape {shape}", got)
