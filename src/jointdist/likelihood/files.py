"""The values of this room that a file can hold: log-ratios."""

import numpy as np

from jointdist._rules import Text, require
from jointdist.data.codec import Floats, Schema
from jointdist.kernels.files import kernel_field
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.lowrank.files import require_kernel

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


def _check_log_ratio(found: LogRatio) -> None:
    total = float(found.shares.sum())
    one = abs(total - 1) <= _ROUNDING
    require(one, "LogRatio", "shares", "of sum one", Text(f"{total:g}"))
    require_kernel("LogRatio", found.kernel, found.landmarks)
