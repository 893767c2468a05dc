"""Results as data frames of whatever library is installed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from jointdist.errors import JointdistError

__all__ = ["frame_of_columns", "index_of", "series_of", "to_frame"]

_LIBRARIES = ("pandas", "polars", "pyarrow")


def index_of(data: Any) -> Any:
    """Return the index of a frame or a series of pandas; None for other data.

    Parameters
    ----------
    data : object
        A table, or anything else.
    """
    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
    except DuplicateError:  # the reader of tables has a message
        return None
    return (
        nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame | nw.Series) else None
    )


def to_frame(
    results: Mapping[str, NDArray[Any]],
    names: Sequence[str] = (),
    *,
    index: Any = None,
    library: str | None = None,
) -> Any:
    """Return named results as columns of a DataFrame of pandas, polars or pyarrow.

    Parameters
    ----------
    results : mapping of str to array of shape (n,) or (n, d)
        The results.
    names : sequence of str, default=()
        The names of the d columns, put before those of results that have several.
    index : index of pandas, optional
        The labels of the rows, which a DataFrame of pandas keeps.
    library : str, optional
        The library; by default the first of them that is installed.
    """
    columns = {}
    for what, values in results.items():
        if values.ndim == 1:
            columns[what] = np.ascontiguousarray(values)
    for i, name in enumerate(names):
        for what, values in results.items():
            if values.ndim == 2:
                title = f"{name}_{what}" if what else name
                columns[title] = np.ascontiguousarray(values[:, i])
    frame = _framed(columns, index, _installed() if library is None else library)
    if frame is None:
        msg = f"to_frame: install one of {', '.join(_LIBRARIES)} first."
        raise JointdistError(msg)
    return frame


def series_of(values: NDArray[Any], name: str, *, index: Any, library: str) -> Any:
    """Return values as a Series of a library.

    Parameters
    ----------
    values : array of shape (n,)
        The values.
    name : str
        Its name.
    index : index of pandas or None
        The labels of the rows, which a Series of pandas keeps.
    library : {"pandas", "polars"}
        The library.
    """
    frame = nw.from_native(_framed({name: values}, index, library), eager_only=True)
    return frame[name].to_native()


def frame_of_columns(columns: Mapping[str, Sequence[Any]], index: Any = None) -> Any:
    """Return columns as a DataFrame, or as a list of rows if no library is installed.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns.
    index : sequence, optional
        The labels of the rows, which a DataFrame of pandas keeps.
    """
    frame = _framed(columns, index, _installed())
    if frame is not None:
        return frame
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _installed() -> str | None:
    """Return the first library of data frames that is installed."""
    return next(filter(find_spec, _LIBRARIES), None)


def _framed(columns: Mapping[str, Any], index: Any, library: str | None) -> Any:
    """Return a DataFrame of a library; None without one."""
    if library is None:
        return None
    frame: Any = nw.from_dict(dict(columns), backend=import_module(library)).to_native()
    if library == "pandas" and index is not None:
        frame.index = index
    return frame
