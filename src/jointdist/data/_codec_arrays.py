"""Fields that hold arrays: numbers, indices and truth values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._array import is_array, to_numpy
from jointdist._rules import Text
from jointdist.data._codec_memory import axes_in_memory, in_memory
from jointdist.data._codec_walk import Field, Json, Place, Reader, Size, Writer, shown

__all__ = ["AnyShape", "Booleans", "Floats", "Indices", "Integers", "Narrow"]


class _Numeric(Field):
    """An array of given shape and data types.

    Parameters
    ----------
    *shape : int or str
        The shape: numbers, names of sizes, or sums of them.
    dtypes : sequence of str
        The data types.
    """

    def __init__(self, *shape: Size, dtypes: Sequence[str]) -> None:
        self.shape, self.dtypes = shape, tuple(dtypes)

    def fits(self, value: object) -> bool:
        return is_array(value) and self._stored(to_numpy(value)).dtype.name in self.dtypes

    def write(self, value: Any, at: Place[Writer]) -> Json:
        at.require(is_array(value), self._rule(at), shown(value))
        array = self._stored(to_numpy(value))
        self._check(array, at)
        role = array.dtype.name
        if (id(value), role) not in at.walk.nodes_of:
            name, axes = at.walk.store(array, at.path), axes_in_memory(to_numpy(value))
            node = name if axes is None else {"array": name, "axes": axes}
            at.walk.remember(value, role, node)
        return at.walk.nodes_of[id(value), role]

    def read(self, node: Json, at: Place[Reader]) -> NDArray[Any]:
        placed = type(node) is dict and set(node) == {"array", "axes"}
        array = at.walk.array(node["array"] if placed else node, at)
        self._check(array, at)
        if placed:
            array = _placed(array, node, at)
        return self._restored(array)

    def _stored(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array in the data type of the file."""
        return array

    def _restored(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of the file in the data type of the value."""
        return array

    def _rule(self, at: Place[Any]) -> str:
        shape = ", ".join(map(str, self.shape)) + "," * (len(self.shape) == 1)
        kind = " or ".join(self.dtypes)
        return f"an array of {kind} of shape ({shape}){at.where_sizes(*self.shape)}"

    def _check(self, array: NDArray[Any], at: Place[Any]) -> None:
        native = array.dtype.isnative and array.dtype.name in self.dtypes
        ok = native and array.ndim == len(self.shape)
        ok = ok and all(map(at.fits, self.shape, array.shape))
        at.require(ok, self._rule(at), shown(array))

    def _within(
        self, array: NDArray[Any], at: Place[Any], least: float | None, most: float | None
    ) -> None:
        """Raise unless all entries that are numbers lie from one number to another."""
        if least is not None and array.size:
            lowest = np.fmin.reduce(array, axis=None)
            at.require(not lowest < least, f"at least {least} everywhere", lowest.item())
        if most is not None and array.size:
            highest = np.fmax.reduce(array, axis=None)
            at.require(not highest > most, f"at most {most} everywhere", highest.item())


class Floats(_Numeric):
    """An array of real numbers.

    Parameters
    ----------
    *shape : int or str
        The shape: numbers, names of sizes, or sums of them, as ``"1+m"``.
    finite : bool, default=True
        Whether all entries are finite; if not, they may be infinite or NaN.
    least, most : float, optional
        Bounds of the entries that are numbers.
    dtypes : sequence of str, default=("float64",)
        The data types.
    """

    def __init__(
        self,
        *shape: Size,
        finite: bool = True,
        least: float | None = None,
        most: float | None = None,
        dtypes: Sequence[str] = ("float64",),
    ) -> None:
        super().__init__(*shape, dtypes=dtypes)
        self.finite, self.least, self.most = finite, least, most

    def _check(self, array: NDArray[Any], at: Place[Any]) -> None:
        super()._check(array, at)
        if self.finite and not (good := np.isfinite(array)).all():
            at.require(False, "finite everywhere", array[~good][0].item())
        self._within(array, at, self.least, self.most)


class Integers(_Numeric):
    """An array of integers.

    Parameters
    ----------
    *shape : int or str
        The shape: numbers, names of sizes, or sums of them.
    least, most : int, optional
        Bounds of the entries.
    dtypes : sequence of str, default=("int64",)
        The data types.
    """

    def __init__(
        self,
        *shape: Size,
        least: int | None = None,
        most: int | None = None,
        dtypes: Sequence[str] = ("int64",),
    ) -> None:
        super().__init__(*shape, dtypes=dtypes)
        self.least, self.most = least, most

    def _check(self, array: NDArray[Any], at: Place[Any]) -> None:
        super()._check(array, at)
        self._within(array, at, self.least, self.most)


class Narrow(Integers):
    """An array of integers of a type that files do not have; they hold 64 bits of each.

    Parameters
    ----------
    dtype : str
        The data type, as ``"int16"``.
    *shape : int or str
        The shape: numbers, names of sizes, or sums of them.
    """

    def __init__(self, dtype: str, *shape: Size) -> None:
        limits = np.iinfo(dtype)
        super().__init__(*shape, least=int(limits.min), most=int(limits.max))
        self.dtype = np.dtype(dtype)

    def fits(self, value: object) -> bool:
        return is_array(value) and to_numpy(value).dtype == self.dtype

    def _stored(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.astype(np.int64) if array.dtype == self.dtype else array

    def _restored(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.astype(self.dtype)


class Indices(Integers):
    """An array of indices, ``numpy.intp``, which files hold as 64-bit integers.

    Parameters
    ----------
    *shape : int or str
        The shape: numbers, names of sizes, or sums of them.
    below : int or str, optional
        What the entries are below: a number, or a size that is known by then.
    least : int, default=0
        The smallest index.
    """

    def __init__(self, *shape: Size, below: Size | None = None, least: int = 0) -> None:
        super().__init__(*shape, least=least, most=int(np.iinfo(np.intp).max))
        self.below = below

    def _stored(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.astype(np.int64, copy=False) if array.dtype == np.intp else array

    def _restored(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.astype(np.intp, copy=False)

    def _check(self, array: NDArray[Any], at: Place[Any]) -> None:
        super()._check(array, at)
        if self.below is None:
            return
        limit, rule = at.known(self.below), f"below {self.below} everywhere"
        at.require(limit is not None, rule, Text(f"unknown {self.below}"))
        highest = int(array.max()) if array.size else -1
        ok = limit is not None and (not array.size or highest < limit)
        at.require(ok, f"{rule}{at.where_sizes(self.below)}", highest)


class Booleans(_Numeric):
    """An array of truth values.

    Parameters
    ----------
    *shape : int or str
        The shape: numbers, names of sizes, or sums of them.
    """

    def __init__(self, *shape: Size) -> None:
        super().__init__(*shape, dtypes=("bool",))


class AnyShape(_Numeric):
    """An array of finite numbers of any shape: real ones, or integers."""

    def __init__(self) -> None:
        super().__init__(dtypes=("float64", "int64"))

    def _check(self, array: NDArray[Any], at: Place[Any]) -> None:
        shape = ("_",) * array.ndim
        kind = Integers if array.dtype == np.int64 else Floats
        kind(*shape)._check(array, at)  # noqa: SLF001


def _placed(array: NDArray[Any], node: Json, at: Place[Reader]) -> NDArray[Any]:
    """Return an array of the file with its axes in memory as they were."""
    axes = node["axes"]
    ok = type(axes) is list and all(type(axis) is int for axis in axes)
    ok = ok and sorted(map(abs, axes)) == [*range(1, 1 + array.ndim)]
    at.require(ok, f"of the axes 1 to {array.ndim}", shown(axes))
    key = ("axes", node["array"], *axes)
    if key not in at.walk.made:
        at.walk.made[key] = in_memory(array, axes)
    return at.walk.made[key]  # type: ignore[no-any-return]
