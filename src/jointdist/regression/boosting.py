"""Gradient boosting with the settings that ``regressor="auto"`` uses."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingRegressor

from jointdist.regression.settings import SETTINGS

__all__ = ["gradient_boosting"]


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
        learning_rate=SETTINGS.boosting_learning_rate,
        max_iter=SETTINGS.boosting_rounds,
        max_leaf_nodes=SETTINGS.boosting_leaves[n >= SETTINGS.boosting_many_rows],
        min_samples_leaf=SETTINGS.boosting_leaf_rows,
        categorical_features=categorical if any(categorical) else None,
        early_stopping=False,
        random_state=0,
    )
