r"""Default kernels, with length scales by the median heuristic.

The unit of each numeric column is the median distance of two of its values, and the length
scale of the kernel is the median distance of two rows in these units.
"""

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from jointdist._array import to_numpy
from jointdist._rules import require
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.kernels import Delta, Gaussian, Hamming, Kernel, Matern, Product
from jointdist.kernels.settings import SETTINGS

__all__ = ["Family", "category_scales", "family_of", "median_scales"]

# Rows by which the shares of categories are counted: their standard error is below 1 %.
_COUNTED = 4096


@dataclass(frozen=True, eq=False)
class Family:
    """A family of kernels for a table, which differ by a factor of their length scales.

    Attributes
    ----------
    encoding : Encoding
        The encoding of the table: which columns are numeric.
    scales : tuple of float
        The length scale of each numeric column; empty if there is one kernel only.
    given : Kernel, optional
        The kernel, if there is one only.
    name : str, default="common"
        The rule by which the length scales of the columns were chosen.
    nu : float, default=inf
        The smoothness of the kernel of the numeric columns: that of a Matérn kernel, 0.5,
        1.5 or 2.5, or infinite for a Gaussian kernel.
    category_scales : tuple of float, default=()
        The length scale of each categorical column: rows that differ in it alone have the
        similarity exp(-1 / scale). Infinite if the column does not count. Empty if there is
        one kernel only, and for a single column that is categorical.
    """

    encoding: Encoding
    scales: tuple[float, ...]
    given: Kernel | None = None
    name: str = "common"
    nu: float = math.inf
    category_scales: tuple[float, ...] = ()

    @property
    def free(self) -> bool:
        """Whether there is a length scale to select."""
        return bool(self.scales)

    @property
    def several(self) -> bool:
        """Whether columns can count for more or less than others."""
        return len(self.scales) + len(self.category_scales) > 1

    @property
    def numbers(self) -> list[int]:
        """The numeric columns."""
        return list(self.encoding.numbers)

    @property
    def factors(self) -> list[int]:
        """The categorical columns."""
        return list(self.encoding.factors)

    @property
    def categorical_kernel(self) -> Kernel | None:
        """The kernel of the categorical columns that count; None without any."""
        if self.factors and not self.category_scales:
            return _on(Delta(), self.factors, self.encoding.width)
        scales = np.array(self.category_scales)
        counted = np.flatnonzero(np.isfinite(scales))
        if not len(counted):
            return None
        columns = [self.factors[i] for i in counted]
        if len(columns) == 1:
            kernel: Kernel = Delta(math.exp(-1 / scales[counted[0]]))
        else:
            kernel = Hamming(tuple(scales[counted].tolist()))
        return _on(kernel, columns, self.encoding.width)

    def at(self, factor: float) -> Kernel:
        """Return the kernel of the numeric columns times that of the categorical ones.

        Parameters
        ----------
        factor : float
            The factor of the length scales.
        """
        if self.given is not None:
            return self.given
        categorical = self.categorical_kernel
        scales = tuple(factor * scale for scale in self.scales)
        if not scales:
            return cast("Kernel", categorical)
        scale = scales if len(scales) > 1 else scales[0]
        kernel: Gaussian | Matern
        kernel = Gaussian(scale) if self.nu == math.inf else Matern(scale, self.nu)
        numeric = _on(kernel, self.numbers, self.encoding.width)
        return numeric if categorical is None else Product(numeric, categorical)


def _on(kernel: Any, columns: list[int], width: int) -> Kernel:
    """Return a kernel of some columns; the kernel itself if these are all."""
    every = columns == list(range(width))
    return cast("Kernel", kernel if every else kernel.on(*columns))


def family_of(
    side: str,
    kernel: object,
    encoding: Encoding,
    rows: Rows,
    *,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> Family:
    """Return the family of kernels of one side: the kernel given, or the family of "auto".

    Parameters
    ----------
    side : {"x", "y"}
        The side, for messages.
    kernel : Kernel or "auto"
        What users give.
    encoding : Encoding
        The encoding of the table.
    rows : Rows
        The encoded table.
    weights : array of shape (n,), optional
        The weights of the rows.
    rng : Generator
        Draws the rows of a large table that are compared.
    """
    if not (isinstance(kernel, str) and kernel == "auto"):
        good, rule = (
            isinstance(kernel, Kernel),
            'a kernel, as kernels.Gaussian(), or "auto"',
        )
        require(good, rows.where, f"kernel_{side}", rule, kernel)
        return Family(encoding, (), cast("Kernel", kernel), "given")
    numbers, factors = list(encoding.numbers), list(encoding.factors)
    scales = median_scales(rows, numbers, weights, rng) if numbers else ()
    alone = len(factors) == 1 and not numbers
    each = () if alone else category_scales(rows, factors, weights)
    return Family(encoding, scales, category_scales=each)


def category_scales(
    rows: Rows, columns: list[int], weights: NDArray[np.float64] | None
) -> tuple[float, ...]:
    """Return a common length scale for categorical columns.

    Two random rows then have the similarity of two categories, however many columns there
    are: with a fixed length scale, rows of many columns would be like no others.

    Parameters
    ----------
    rows : Rows
        The encoded table.
    columns : list of int
        The columns.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    if not columns:
        return ()
    some = np.unique(np.linspace(0, rows.n - 1, _COUNTED).astype(np.intp))
    Z = to_numpy(rows.take(some))[:, columns]
    w = np.ones(len(some)) if weights is None else weights[some]
    w = w / w.sum() if w.any() else np.full(len(some), 1 / len(some))
    shares = (np.bincount(z.astype(np.intp), w) for z in Z.T)
    apart = sum(1 - float(share @ share) for share in shares)
    return (max(apart, 1.0) / -math.log(SETTINGS.category_similarity),) * len(columns)


def median_scales(
    rows: Rows,
    columns: list[int],
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> tuple[float, ...]:
    """Return a length scale for each of the columns, by the median heuristic.

    Parameters
    ----------
    rows : Rows
        The table.
    columns : list of int
        The columns.
    weights : array of shape (n,), optional
        The weights of the rows.
    rng : Generator
        Draws the rows of a large table that are compared.
    """
    chosen = np.arange(rows.n) if weights is None else np.flatnonzero(weights)
    if len(chosen) > SETTINGS.median_rows:
        chosen = np.sort(rng.choice(chosen, SETTINGS.median_rows, replace=False))
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
    """Return the lower weighted median, in which weights count repeated values."""
    if (weights == weights[0]).all():
        middle = (len(values) - 1) // 2
        return float(np.partition(values, middle)[middle])
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2)]])
