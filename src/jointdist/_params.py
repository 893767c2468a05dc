"""Parameters of parameters, such as ``kernel_x__scale``, for searches by scikit-learn.

Scikit-learn changes nested objects where they are. Kernels are values that models may
share, so that here they are replaced: ``model.set_params(kernel_x__scale=2.0)`` gives the
model a new kernel, and nobody else.
"""

from collections import defaultdict
from copy import deepcopy
from dataclasses import fields
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from jointdist.errors import Text, require

__all__ = ["NestedParameters", "Parametric"]


class Parametric:
    """A frozen dataclass with parameters that have names.

    Its fields are the parameters, and those of a field that has some are named
    ``field__parameter``.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of parameters too.
        """
        parts = self._parts()
        inner = {
            f"{name}__{key}": value
            for name, part in parts.items()
            if deep and _has_parameters(part)
            for key, value in part.get_params().items()
        }
        return parts | inner

    def with_params(self, **params: Any) -> Self:
        """Return one that differs in some parameters.

        Parameters
        ----------
        **params
            New values of parameters, by the names of :meth:`get_params`.

        Examples
        --------
        >>> from jointdist.kernels import Gaussian
        >>> Gaussian(2.0).on(0, 1).with_params(kernel__scale=3.0)
        Gaussian(scale=3.0).on(0, 1)
        """
        new = _own(type(self).__name__, "", self, params)
        return self._rebuilt(self._parts() | new)

    def __sklearn_clone__(self) -> Self:
        return self  # nobody can change it

    def _parts(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _rebuilt(self, parts: dict[str, Any]) -> Self:
        return type(self)(**parts)


class NestedParameters:
    """An estimator whose parameters have parameters: these are replaced, never changed."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of kernels, as in ``kernel_x__scale=2.0``.

        A kernel that is named so is replaced by another; a model that shares it keeps
        its own.

        Parameters
        ----------
        **params
            New values of parameters, by the names of ``get_params``.

        Returns
        -------
        estimator
            The model itself.
        """
        new = _own(type(self).__name__, "", self, params)
        super().set_params(**new)  # type: ignore[misc]  # that of BaseEstimator
        return self


@runtime_checkable
class _Changeable(Protocol):
    """What changes where it is, as scikit-learn's estimators do."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...


def _has_parameters(part: object) -> bool:
    return isinstance(part, Parametric | _Changeable) and not isinstance(part, type)


def _own(where: str, path: str, owner: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the new values of an owner's own parameters, given nested names too."""
    present = owner.get_params(deep=False)
    new, inner = {}, defaultdict[str, dict[str, Any]](dict)
    for key, value in params.items():
        name, nested, rest = key.partition("__")
        rule = f"one of the parameters of {type(owner).__name__}, {list(present)}"
        require(name in present, where, path + name, rule, name)
        if nested:
            inner[name][rest] = value
        else:
            new[name] = value
    for name, some in inner.items():
        new[name] = _replaced(where, path + name, (present | new)[name], some)
    return new


def _replaced(where: str, path: str, part: Any, params: dict[str, Any]) -> Any:
    """Return a part that differs in some parameters."""
    known = "as kernels.Gaussian() or Selection(), or one with `get_params`"
    rule = f"an object with parameters, {known}, to set its {', '.join(params)}"
    auto = isinstance(part, str) and part == "auto"
    got = Text(f"{part!r}, chosen by the fit") if auto else part
    require(_has_parameters(part), where, path, rule, got)
    new = _own(where, f"{path}__", part, params)
    if isinstance(part, Parametric):
        return part.with_params(**new)
    part = deepcopy(part)
    part.set_params(**new)
    return part
