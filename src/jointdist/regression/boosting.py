"""Gradient boosting with the settings that ``regressor="auto"`` uses."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingRegressor

__all__ = ["gradient_boosting"]

# Rows from which trees have 63 leaves instead of 15.
_MANY, _LEAVES = 5_000, (15, 63)


def gradient_boosting(categorical: list[bool], n: int) -> Any:
    """Return unfitted gradient boosting: slow and long, as many learners are averaged.

    Parameters
    ----------
    categorical : list of bool
        Which columns of X are categorical.
    n : int
        The number of rows.
    """
    return HistGradientBoostingRegressor(
        learning_rate=0.05,
        max_iter=400,
        max_leaf_nodes=_LEAVES[n >= _MANY],
        min_samples_leaf=5,
        categorical_features=categorical if any(categorical) else None,
        early_stopping=False,
        random_state=0,
    )
