"""Events in terms of columns: expressions, or functions that get the columns by name."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist._array import Vector
from jointdist._rules import Text, refusal, require
from jointdist.data.encoding import Encoding
from jointdist.data.expressions import parse

__all__ = [
    "Event",
    "NamedPoints",
    "columns_of",
    "happens",
    "named",
    "names_of",
    "values_of",
]

Event: TypeAlias = str | Callable[[Any], ArrayLike]


class NamedPoints(np.ndarray[Any, np.dtype[Any]]):
    """Points whose columns can also be had by name: ``points["delay"]``.

    In all else it is an array; what is computed from it is an ordinary one.
    """

    _column: Callable[[str], NDArray[Any]]

    def __array_finalize__(self, of: NDArray[Any] | None) -> None:
        """Start without names: those of views and copies are not known."""
        self._column = partial(_refuse, ())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Return ordinary arrays."""
        options = {key: _ordinary(value) for key, value in options.items()}
        return getattr(ufunc, method)(*map(_ordinary, inputs), **options)

    def __getitem__(self, index: Any) -> Any:
        """Return a column by name, several by a list of names, or what an array returns."""
        if isinstance(index, str):
            return self._column(index)
        names = isinstance(index, list) and index and all(isinstance(i, str) for i in index)
        if names:
            return np.stack([self._column(name) for name in index], axis=-1)
        return np.asarray(self)[index]


def names_of(encoding: Encoding, side: str = "y") -> tuple[str, ...]:
    """Return the names of columns in events.

    They are those of the table. If it has none, a single column is called ``y``, and several
    are ``y0``, ``y1`` and so on; those of X likewise ``x``, or ``x0``, ``x1``.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    side : {"y", "x"}, default="y"
        Whose columns they are.

    Examples
    --------
    >>> from jointdist.data.encoding import Encoding
    >>> from jointdist.data.events import names_of
    >>> names_of(Encoding((None, None))), names_of(Encoding((None,)), "x")
    (('y0', 'y1'), ('x',))
    """
    if encoding.names is not None:
        return encoding.names
    many = tuple(f"{side}{i}" for i in range(encoding.width))
    return (side,) if encoding.width == 1 else many


def columns_of(
    encoding: Encoding,
    z: Vector,
    *,
    side: str = "y",
    only: Collection[str] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the columns of coded rows by name, each in its own type.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    z : array of shape (..., d)
        The rows, coded.
    side : {"y", "x"}, default="y"
        Whose columns they are, if they have no names.
    only : collection of str, optional
        The names of those that are needed; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.encoding import Encoding
    >>> from jointdist.data.events import columns_of
    >>> encoding = Encoding((None, ("EWR", "JFK")), ("delay", "origin"))
    >>> columns_of(encoding, np.array([[30.0, 1.0], [5.0, 0.0]]))
    {'delay': array([30.,  5.]), 'origin': array(['JFK', 'EWR'], dtype='<U3')}
    """
    return {
        name: encoding.decode_column(i, z[..., i])
        for i, name in enumerate(names_of(encoding, side))
        if only is None or name in only
    }


def named(encoding: Encoding, z: Vector, *, side: str = "y") -> NamedPoints:
    """Return coded rows as users know them, with their columns by name.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    z : array of shape (b, d)
        The rows, coded.
    side : {"y", "x"}, default="y"
        Whose columns they are, if they have no names.
    """
    found = encoding.decode(z)
    points = (found[..., 0] if encoding.width == 1 else found).view(NamedPoints)
    names = names_of(encoding, side)

    def column(name: str) -> NDArray[Any]:
        if name not in names:
            _refuse(names, name)
        return columns_of(encoding, z, side=side, only=[name])[name]

    points._column = column  # noqa: SLF001
    return points


def happens(
    event: Event, encoding: Encoding, z: Vector, *, where: str, name: str, side: str = "y"
) -> NDArray[np.bool_]:
    """Tell in which coded rows an event happens.

    Parameters
    ----------
    event : str or callable
        An expression over columns, see :mod:`jointdist.data.expressions`; or a function from
        points, ``(b,)`` or ``(b, d)``, to ``b`` times True or False, which can also index the
        points by the names of columns.
    encoding : Encoding
        The columns.
    z : array of shape (b, d)
        The rows, coded.
    where, name : str
        The caller and its argument, for messages.
    side : {"y", "x"}, default="y"
        Whose columns they are, if they have no names.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.encoding import Encoding
    >>> from jointdist.data.events import happens
    >>> encoding = Encoding((None, ("EWR", "JFK")), ("delay", "origin"))
    >>> z = np.array([[30.0, 1.0], [5.0, 0.0]])
    >>> happens("delay > 9 and origin == 'JFK'", encoding, z, where="prob", name="event")
    array([ True, False])
    >>> happens(lambda y: y["delay"] < 9, encoding, z, where="prob", name="event")
    array([False,  True])
    """
    if isinstance(event, str):
        expression = parse(event, where=where, name=name)
        known = set(names_of(encoding, side))
        only = expression.names if set(expression.names) <= known else None
        columns = columns_of(encoding, z, side=side, only=only or None)
        return expression.evaluate(columns)
    points = named(encoding, z, side=side)
    return values_of(event, points, where=where, name=name, kind=bool).astype(bool)


def values_of(
    f: Callable[[Any], ArrayLike],
    points: NDArray[Any],
    *,
    where: str,
    name: str,
    kind: type = float,
) -> Vector:
    """Return the values of a user's function at a block of support points, checked.

    Parameters
    ----------
    f : callable
        The function.
    points : array of shape (b,) or (b, d)
        The points.
    where, name : str
        The caller and its argument, for messages.
    kind : {float, bool}, default=float
        What the function must return.
    """
    n = len(points)
    example = "lambda y: y > 0" if kind is bool else "lambda y: y**2"
    rule = f"a function of the support points, such as `{example}`"
    rule += ", or an expression over columns" if kind is bool else ""
    require(callable(f), where, name, rule, f)
    try:
        found = np.asarray(f(points))
    except Exception as error:
        error.add_note(
            f"{where}: `{name}` was called with {n} support points at once, an array of shape "
            f"{points.shape}. Combine conditions by & and |, as in (y > 0) & (y < 1)."
        )
        raise
    kinds, results = ("b", "True or False") if kind is bool else ("biuf", "numbers")
    got = Text(f"values of type {found.dtype}")
    require(found.dtype.kind in kinds, where, name, f"a function to {results}", got)
    shape = (n,) if kind is bool else (n, *found.shape[1:])
    rule = f"a function of {n} support points to {n} values"
    require(found.shape == shape, where, name, rule, Text(f"shape {found.shape}"))
    return found.astype(np.float64)


def _refuse(names: Sequence[str], name: str) -> NoReturn:
    raise KeyError(refusal("points", "column", f"one of {list(names)}", name))


def _ordinary(value: Any) -> Any:
    """Return what is made of named points with ordinary arrays in their place."""
    if isinstance(value, tuple):
        return tuple(map(_ordinary, value))
    return np.asarray(value) if isinstance(value, NamedPoints) else value
