"""Random generators from seeds of any of the usual kinds."""

from typing import TypeAlias

import numpy as np

from jointdist.errors import require

__all__ = ["Seed", "generator"]

Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def generator(where: str, random_state: Seed) -> np.random.Generator:
    """Return a random generator made from a seed of any of the usual kinds."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        rule = "None, an integer from 0, a Generator or a RandomState"
        require(ok=False, where=where, name="random_state", rule=rule, value=random_state)
        raise
