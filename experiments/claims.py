"""Claims of the paper, and the verdicts of the tables on them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Claim", "verdict"]


class Claim(NamedTuple):
    """A claim of the paper.

    Attributes
    ----------
    text : str
        The claim.
    verdict : str
        Whether the tables support it.
    numbers : str
        The measured values.
    """

    text: str
    verdict: str
    numbers: str


def verdict(cases: ArrayLike) -> str:
    """Return whether a claim holds in all cases, in none, or in how many of them.

    Parameters
    ----------
    cases : array of bool
        Whether it holds in each case.
    """
    held = np.ravel(cases).astype(bool)
    if not held.size:
        return "not run"
    if held.all():
        return "holds"
    return f"holds in {held.sum()} of {held.size} cases" if held.any() else "does not hold"
