"""Answers of estimators as frames of pandas or polars, as scikit-learn's ``set_output`` asks."""

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn import get_config

from jointdist._rules import require
from jointdist.data.frames import index_of
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.framed_answers import FramedConditional, as_frame

__all__ = ["FrameOutput", "Output"]

Output: TypeAlias = Literal["default", "pandas", "polars"]
_KINDS = ("default", "pandas", "polars")


class FrameOutput:
    """An estimator whose answers may be frames, with the names of Y and the index of X."""

    _sklearn_output_config: dict[
        str, str
    ]  # the name by which scikit-learn's `clone` keeps it

    def set_output(self, *, transform: Output | None = None) -> Self:
        """Set whether answers are arrays or frames.

        Forecasts are then Series or DataFrames with the names of Y and the index of X; so are
        means, quantiles, intervals and probabilities of what ``given`` returns.
        ``sklearn.set_config(transform_output=...)`` sets it for all estimators.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Arrays, or frames of a library; None leaves it as it is.

        Returns
        -------
        estimator
            The estimator itself.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> import jointdist as jd
        >>> X = pd.DataFrame({"hour": np.arange(20.0)}, index=list("abcdefghijklmnopqrst"))
        >>> model = jd.JointDistribution(random_state=0).fit(X, X["hour"].rename("delay"))
        >>> found = model.set_output(transform="pandas").predict(X[:2])
        >>> found.name, list(found.index)
        ('delay', ['a', 'b'])
        """
        if transform is not None:
            where = f"{type(self).__name__}.set_output"
            require(transform in _KINDS, where, "transform", f"one of {_KINDS}", transform)
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def _library(self) -> str | None:
        """The library of frames; None if answers are arrays."""
        common = get_config().get("transform_output", "default")
        own = vars(self).get("_sklearn_output_config", {})
        found: str = own.get("transform", common)
        return None if found == "default" else found

    def _answer(self, dist: Conditional) -> Conditional:
        """Return distributions that answer with arrays or frames, as was set."""
        library = self._library
        if library is None or type(dist) is not Conditional:
            return dist
        return FramedConditional(dist.parts, library)

    def _of_classes(self, values: Any, X: object) -> Any:
        """Return numbers for each class, ``(q, K)``, as an array or a frame, as was set."""
        return self._forecast(values, X, tuple(map(str, vars(self)["classes_"])))

    def _forecast(self, values: Any, X: object, names: tuple[str, ...]) -> Any:
        """Return forecasts of rows of X as arrays or frames, as was set."""
        library = self._library
        if library is None or not isinstance(values, np.ndarray):
            return values
        return as_frame(values, names, index_of(X), library)
