"""Results as data frames of whatever library is installed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from jointdist.errors import JointdistError

__all__ = ["to_frame"]

_LIBRARIES = ("pandas", "polars", "pyarrow")


def to_frame(results: Mapping[str, NDArray[np.float64]], names: Sequence[str] = ()) -> Any:
    """Return named results as columns of a DataFrame of pandas, polars or pyarrow.

    Parameters
    ----------
    results : mapping of str to array of shape (n,) or (n, d)
        The results.
    names : sequence of str, default=()
        The names of the d columns, put before those of results that have several.
    """
    columns = {}
    for what, values in results.items():
        if values.ndim == 1:
            columns[what] = np.ascontiguousarray(values)
    for i, name in enumerate(names):
        for what, values in results.items():
            if values.ndim == 2:
                columns[f"{name}_{what}"] = np.ascontiguousarray(values[:, i])
    for library in filter(find_spec, _LIBRARIES):
        backend = import_module(library)
        return nw.from_dict(columns, backend=backend).to_native()
    msg = f"to_frame: install one of {', '.join(_LIBRARIES)} first."
    raise JointdistError(msg)
