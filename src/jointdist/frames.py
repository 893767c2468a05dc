"""Results as data frames of whatever library is installed."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from jointdist.errors import JointdistError

__all__ = ["to_frame"]

_LIBRARIES = ("pandas", "polars", "pyarrow")


def to_frame(columns: Mapping[str, NDArray[np.float64]]) -> Any:
    """Return named columns as a DataFrame of pandas, polars or pyarrow.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
        The columns.
    """
    for library in filter(find_spec, _LIBRARIES):
        backend = import_module(library)
        return nw.from_dict(dict(columns), backend=backend).to_native()
    msg = f"Conditional.to_frame: install one of {', '.join(_LIBRARIES)} first."
    raise JointdistError(msg)
