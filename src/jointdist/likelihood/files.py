"""The values of this room that a file can hold: log-ratios, and cells of several columns."""

import numpy as np

from jointdist._rules import Text, require
from jointdist.data.codec import Floats, Schema, Value
from jointdist.data.encoding import Encoding
from jointdist.kernels.files import kernel_field
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.likelihood.outcome_cells import Regions
from jointdist.lowrank.files import require_kernel
from jointdist.lowrank.partition_tree import PartitionTree

__all__ = ["register_likelihood"]

_SMALLEST = float(np.finfo(np.float64).tiny)
# How far shares may be from sum one: rounding of the sum of 10^9 of them.
_ROUNDING = 1e-6


def register_likelihood(schema: Schema) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    schema.register(
        LogRatio,
        "log_ratio",
        check=_check_log_ratio,
        kernel=kernel_field(),
        landmarks=Floats("m", "d"),
        slopes=Floats("m", "r"),
        shift=Floats("r"),
        functions=Floats("k", "r"),
        intercept=Floats("k"),
        shares=Floats("k", least=_SMALLEST, most=1 + _ROUNDING),
    )
    schema.register(
        Regions,
        "regions",
        check=_check_regions,
        encoding=Value(Encoding, d="width"),
        units=Floats("d", least=_SMALLEST),
        tree=Value(PartitionTree, k="leaves"),
    )


def _check_regions(found: Regions) -> None:
    known = found.encoding.categories
    width = sum(1 if names is None else len(names) for names in known)
    most = int(found.tree.direction.max())
    require(most < width, "Regions", "tree", f"below {width}, the number of columns", most)


def _check_log_ratio(found: LogRatio) -> None:
    total = float(found.shares.sum())
    one = abs(total - 1) <= _ROUNDING
    require(one, "LogRatio", "shares", "of sum one", Text(f"{total:g}"))
    require_kernel("LogRatio", found.kernel, found.landmarks)
