"""The fitted state of an estimator: set at once, last, with the parameters of the fit."""

import os
from collections.abc import Collection
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from jointdist._params import NestedParameters
from jointdist.models._outputs import FrameOutput

__all__ = ["FittedState"]


def _is_mutable(value: object) -> bool:
    """Tell whether users may change a parameter in place after a fit: ridges, class weights."""
    return isinstance(value, np.ndarray | dict | list)


class FittedState(FrameOutput, NestedParameters, BaseEstimator):
    """An estimator whose fitted attributes are set in one place, all or none.

    A fit that fails or is interrupted leaves the estimator as it was, fitted or not.
    Parameters that change after a fit take part in the next one only.
    """

    _settings: dict[str, Any]  # the parameters of the fit

    def _set_fitted(
        self, learned: dict[str, Any], settings: dict[str, Any] | None = None
    ) -> Self:
        """Set all fitted attributes at once; other attributes of an earlier fit are removed.

        The settings are the parameters of the fit: by default those of now.
        """
        earlier = vars(self).get("_learned_names", frozenset())
        kept = {name: value for name, value in vars(self).items() if name not in earlier}
        if settings is None:
            given = self.get_params(deep=False).items()
            settings = {k: copy(v) if _is_mutable(v) else v for k, v in given}
        learned = learned | {"_settings": settings}
        self.__dict__ = kept | learned | {"_learned_names": frozenset(learned)}
        return self

    def _as_fitted(self) -> Self:
        """Return a copy with the parameters of the fit, whatever was set since."""
        model = copy(self)
        model.__dict__ |= self._settings
        return model

    def _adopt(self, model: Self) -> Self:
        """Take over the fitted attributes of a model of the same settings."""
        learned = {name: vars(model)[name] for name in vars(model)["_learned_names"]}
        return self._set_fitted(learned, self._settings)

    def save(self, path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> None:
        """Write the model to a file, which :func:`jointdist.load` reads.

        The file holds all that answers need, the parameters and the diagnostics of the fit;
        no code, and no rows but support points and landmarks. A seed that is a generator
        becomes None. See ``docs/files.md``.

        Parameters
        ----------
        path : path-like
            The file. One that exists is replaced, once the new one is complete.
        trusted : collection of str, default=()
            The full names of types beyond those of jointdist and those that skops knows, for
            a regressor of yours in a :class:`~jointdist.DistributionRegressor`. They must be
            named again when the file is loaded.

        Raises
        ------
        ValueError
            If a part cannot be stored: a kernel, a criterion or an estimator that is code of
            yours. Nothing is written then.
        ModelFileError
            If the file cannot be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import numpy as np
        >>> import jointdist as jd
        >>> x = np.linspace(0, 1, 50)[:, None]
        >>> model = jd.KernelLogisticRegression(random_state=0).fit(x, x[:, 0] > 0.5)
        >>> with TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.jd")
        ...     same = jd.load(Path(folder) / "model.jd")
        >>> same.predict([[0.1], [0.9]])
        array([False,  True])
        """
        check_is_fitted(self)
        from jointdist.models.files import save_model  # noqa: PLC0415  # it imports us

        save_model(self, path, trusted)

    @property
    def _saved(self) -> dict[str, Any]:
        """What a file holds: parameters, those of the fit, what was learned, and marks."""
        own = vars(self)
        names = own.get("_learned_names")
        learned = None if names is None else {n: own[n] for n in names if n != "_settings"}
        marks = {n: own[n] for n in ("_caller", "_repeated", "_both") if n in own}
        return {
            "parameters": self.get_params(deep=False),
            "settings": own.get("_settings"),
            "learned": learned,
            "marks": marks,
        }

    @classmethod
    def _of_saved(cls, saved: dict[str, Any]) -> Self:
        """Return the estimator of what a file holds."""
        model = cls(**saved["parameters"])
        model.__dict__ |= saved["marks"]
        if saved["learned"] is not None:
            learned = saved["learned"] | {"_settings": saved["settings"]}
            model.__dict__ |= learned | {"_learned_names": frozenset(learned)}
        return model
