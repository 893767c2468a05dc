r"""Kernels for those who name none: the median heuristic.

Each column of numbers is measured in units of the median distance of two of its values,
and the Gaussian's scale is the median distance of two rows in these units.
"""

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from jointdist._array import to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.errors import require
from jointdist.kernels import Delta, Gaussian, Kernel, Matern, Product

__all__ = ["Family", "family_of", "median_scales"]

_PAIRED = 512  # rows that are compared with each other
_SIMILAR = 0.5  # of two rows that differ in one category among several columns


@dataclass(frozen=True, eq=False)
class Family:
    """Kernels of a table that differ by a factor of their scales.

    Attributes
    ----------
    encoding : Encoding
        Which columns are numbers.
    scales : tuple of float
        The scale of each column of numbers; empty if there is one kernel only.
    given : Kernel, optional
        The kernel, if there is one only.
    name : str, default="common"
        By what rule the scales are related to each other.
    nu : float, default=inf
        The smoothness of the kernel of numbers: that of a Matérn kernel, 0.5, 1.5 or 2.5;
        a Gaussian if it is infinite.
    """

    encoding: Encoding
    scales: tuple[float, ...]
    given: Kernel | None = None
    name: str = "common"
    nu: float = math.inf

    @property
    def free(self) -> bool:
        """Whether there is a scale to choose."""
        return bool(self.scales)

    @property
    def numbers(self) -> list[int]:
        """The columns of numbers."""
        return [i for i, known in enumerate(self.encoding.categories) if known is None]

    @property
    def categorical_kernel(self) -> Kernel | None:
        """The kernel of the columns of words: a Delta for each; None if there are none."""
        words = [i for i, known in enumerate(self.encoding.categories) if known is not None]
        if not self.numbers and len(words) == 1:
            return Delta()
        parts: list[Any] = [Delta(_SIMILAR).on(i) for i in words]
        return Product(*parts) if len(parts) > 1 else parts[0] if parts else None

    def at(self, factor: float) -> Kernel:
        """Return a kernel for the numbers, times that of the words.

        Parameters
        ----------
        factor : float
            What the scales are multiplied by.
        """
        if self.given is not None:
            return self.given
        words = self.categorical_kernel
        if not self.scales:
            return cast("Kernel", words)
        scales = tuple(factor * scale for scale in self.scales)
        scale = scales if len(scales) > 1 else scales[0]
        kernel: Gaussian | Matern
        kernel = Gaussian(scale) if self.nu == math.inf else Matern(scale, self.nu)
        return kernel if words is None else kernel.on(*self.numbers) * words


def family_of(
    side: str,
    kernel: object,
    encoding: Encoding,
    rows: Rows,
    *,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> Family:
    """Return the kernels that come into question: the one given, or those of "auto".

    Parameters
    ----------
    side : {"x", "y"}
        The side, for messages.
    kernel : Kernel or "auto"
        What was given.
    encoding : Encoding
        Which columns are numbers.
    rows : Rows
        The table, coded.
    weights : array of shape (n,), optional
        The weights of the rows.
    rng : Generator
        Chooses the rows of a large table that are compared.
    """
    if not (isinstance(kernel, str) and kernel == "auto"):
        good, rule = (
            isinstance(kernel, Kernel),
            'a kernel, as kernels.Gaussian(), or "auto"',
        )
        require(good, rows.where, f"kernel_{side}", rule, kernel)
        return Family(encoding, (), cast("Kernel", kernel), "given")
    numbers = [i for i, known in enumerate(encoding.categories) if known is None]
    return Family(encoding, median_scales(rows, numbers, weights, rng) if numbers else ())


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
