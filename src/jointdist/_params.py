"""Nested parameters, such as ``kernel_x__scale``, for searches by scikit-learn.

Scikit-learn changes nested objects in place. Kernels are immutable values that models may
share, so they are replaced instead: ``model.set_params(kernel_x__scale=2.0)`` gives this model
a new kernel, and no other model.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from copy import deepcopy
from dataclasses import fields
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from jointdist._rules import Text, require

__all__ = ["NestedParameters", "Parametric", "WithParameters"]


class WithParameters(ABC):
    """An immutable value with named parameters, some of which may have parameters too.

    The parameters of a parameter are named ``outer__inner``.
    """

    __slots__ = ()

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return the direct parameters by name."""

    @abstractmethod
    def _rebuilt(self, parts: dict[str, Any]) -> Self:
        """Return a value of the same class with the given direct parameters."""

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
        """Return a copy with other values of some parameters.

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
        new = _direct(type(self).__name__, "", self, params)
        return self._rebuilt(self._parts() | new)

    def __sklearn_clone__(self) -> Self:
        return self  # it is immutable


class Parametric(WithParameters):
    """A frozen dataclass whose fields are its parameters."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def _parts(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _rebuilt(self, parts: dict[str, Any]) -> Self:
        return type(self)(**parts)


class NestedParameters:
    """An estimator with nested parameters, which are replaced and never changed in place."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of kernels, as in ``kernel_x__scale=2.0``.

        They take part in the next ``fit``: a model that is fitted answers as before. Use
        ``refit`` for another ridge or constraint without a fit. The kernel of this model is
        replaced by a new one; other models that share the old kernel keep it.

        Parameters
        ----------
        **params
            New values of parameters, by the names of ``get_params``.

        Returns
        -------
        estimator
            The model itself.
        """
        new = _direct(type(self).__name__, "", self, params)
        super().set_params(**new)  # type: ignore[misc]  # that of BaseEstimator
        return self


@runtime_checkable
class _Replaceable(Protocol):
    """A value with parameters that gives changed copies, as kernels do."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def with_params(self, **params: Any) -> Any: ...


@runtime_checkable
class _Changeable(Protocol):
    """An object with parameters that change in place, as scikit-learn's estimators do."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...


def _has_parameters(part: object) -> bool:
    return isinstance(part, _Replaceable | _Changeable) and not isinstance(part, type)


def _direct(where: str, path: str, owner: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return new values of the direct parameters of ``owner``, given nested names too."""
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
    for name, nested_params in inner.items():
        new[name] = _replaced(where, path + name, (present | new)[name], nested_params)
    return new


def _replaced(where: str, path: str, part: Any, params: dict[str, Any]) -> Any:
    """Return a copy of a parameter in which some of its parameters differ."""
    examples = "as kernels.Gaussian() or Selection(), or one with `get_params`"
    rule = f"an object with parameters, {examples}, to set its {', '.join(params)}"
    auto = isinstance(part, str) and part == "auto"
    got = Text(f"{part!r}, chosen by the fit") if auto else part
    require(_has_parameters(part), where, path, rule, got)
    new = _direct(where, f"{path}__", part, params)
    if isinstance(part, _Replaceable):
        return part.with_params(**new)
    part = deepcopy(part)
    part.set_params(**new)
    return part
