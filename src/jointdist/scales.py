r"""Kernels for those who name none: the median heuristic.

Each column of numbers is measured in units of the median distance of two of its values,
and the Gaussian's scale is the median distance of two rows in these units.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from jointdist._array import to_numpy
from jointdist.coding import Coding
from jointdist.errors import require
from jointdist.kernels import Delta, Gaussian, Kernel
from jointdist.rows import Rows

__all__ = ["chosen_kernel", "default_kernel", "median_scales"]

_PAIRED = 512  # rows that are compared with each other
_SIMILAR = 0.5  # of two rows that differ in one category among several columns


def chosen_kernel(
    side: str,
    kernel: object,
    coding: Coding,
    rows: Rows,
    *,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> Kernel:
    """Return the kernel given, or the default if it is "auto".

    Parameters
    ----------
    side : {"x", "y"}
        The side, for messages.
    kernel : Kernel or "auto"
        What was given.
    coding, rows, weights, rng
        As in :func:`default_kernel`.
    """
    if isinstance(kernel, str) and kernel == "auto":
        return default_kernel(coding, rows, weights, rng)
    ok, rule = isinstance(kernel, Kernel), 'a kernel, as kernels.Gaussian(), or "auto"'
    require(ok, rows.where, f"kernel_{side}", rule, kernel)
    return cast("Kernel", kernel)


def default_kernel(
    coding: Coding,
    rows: Rows,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> Kernel:
    """Return a Gaussian for the numbers, times a Delta for each column of words.

    Parameters
    ----------
    coding : Coding
        Which columns are numbers.
    rows : Rows
        The table, coded.
    weights : array of shape (n,), optional
        The weights of the rows.
    rng : Generator
        Chooses the rows of a large table that are compared.
    """
    numbers = [i for i, known in enumerate(coding.categories) if known is None]
    words = [i for i, known in enumerate(coding.categories) if known is not None]
    if not numbers and len(words) == 1:
        return Delta()
    parts: list[Kernel] = [Delta(_SIMILAR).on(i) for i in words]
    if numbers:
        scales = median_scales(rows, numbers, weights, rng)
        gaussian = Gaussian(scales if len(scales) > 1 else scales[0])
        parts.insert(0, gaussian.on(*numbers) if words else gaussian)
    kernel = parts[0]
    for part in parts[1:]:
        kernel = kernel * part  # type: ignore[operator]  # ours can all be multiplied
    return kernel


def median_scales(
    rows: Rows,
    columns: list[int],
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> tuple[float, ...]:
    """Return one scale for each of the columns, by the median heuristic.

    Parameters
    ----------
    rows : Rows
        The table.
    columns : list of int
        The columns.
    weights : array of shape (n,), optional
        The weights of the rows.
    rng : Generator
        Chooses the rows of a large table that are compared.
    """
    chosen = np.arange(rows.n) if weights is None else np.flatnonzero(weights)
    if len(chosen) > _PAIRED:
        chosen = np.sort(rng.choice(chosen, _PAIRED, replace=False))
    Z = to_numpy(rows.take(chosen))[:, columns]
    w = np.ones(len(chosen)) if weights is None else weights[chosen] / weights.max()
    pairs = np.multiply.outer(w, w).ravel()
    units, total = [], np.zeros(len(pairs))
    for z in Z.T:
        apart = np.abs(z[:, None] - z).ravel()
        unit = _median(apart, pairs)
        if unit == 0:  # more than half of the values are one and the same
            unit = float(np.sqrt(np.average(apart**2, weights=pairs)))
        unit = unit if unit > 0 else 1.0
        units.append(unit)
        total += (apart / unit) ** 2
    typical = float(np.sqrt(_median(total, pairs)))
    return tuple(unit * (typical if typical > 0 else 1.0) for unit in units)


def _median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the lower weighted median: repeated values count like weights."""
    if (weights == weights[0]).all():
        middle = (len(values) - 1) // 2
        return float(np.partition(values, middle)[middle])
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2)]])
