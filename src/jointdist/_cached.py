"""Values that are computed when they are first read, without a lock, and never pickled.

Fitted models are read by several threads at once. ``functools.cached_property`` takes a lock
on Python 3.11, so that threads wait for each other. Here two threads may compute the same
value twice; both get a right one.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["Cached", "cached"]

T = TypeVar("T")


class cached(Generic[T]):  # noqa: N801  # used like `property`
    """A property whose value is computed once for each object.

    Parameters
    ----------
    compute : callable
        From the object to the value.

    Examples
    --------
    >>> from jointdist._cached import cached
    >>> class Circle:
    ...     radius = 2.0
    ...
    ...     @cached
    ...     def area(self) -> float:
    ...         print("computed")
    ...         return 3.14 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (12.56, 12.56)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self._name = compute, compute.__name__
        self.__doc__ = compute.__doc__
        self.__module__ = compute.__module__

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> Self: ...

    @overload
    def __get__(self, owner: object, kind: type | None = None) -> T: ...

    def __get__(self, owner: object | None, kind: type | None = None) -> Self | T:
        if owner is None:
            return self
        value = self._compute(owner)
        vars(owner)[self._name] = value  # the next read finds it there
        return value


class Cached:
    """A value whose cached properties are left out of pickles and copies."""

    __slots__ = ()

    def __getstate__(self) -> dict[str, Any]:
        names = list(vars(self).items())  # another thread may add one meanwhile
        return {
            name: value
            for name, value in names
            if not isinstance(getattr(type(self), name, None), cached)
        }
