"""Conditional second-moment matrices: the models of the paper, section 5.1, and their test."""

from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.device import to_device
from experiments.protocol import Best, Family, Variant, search
from experiments.store import Row
from jointdist import (
    ConditionalMeanEmbedding,
    JointDistribution,
    PolynomialJointDistribution,
    scores,
)
from jointdist.kernels import Gaussian

__all__ = ["NAMES", "Data", "cme", "compared", "jdl", "jpdl"]

NAMES = {  # of models and constraints, in the words of tables
    "JDL": "none",
    "JDL exact": "exact marginals",
    "JDL tightened": "tightened",
    "JPDL": "none",
    "JPDL sos": "sums of squares",
    "CME": "none",
    "CME average": "on average",
}
RIDGES = tuple((10.0 ** np.arange(-1, -13.1, -1)).tolist())
FEW = (1.0, 0.1, 1e-2, 1e-4)  # of costly programs whose solutions hardly depend on them
SMALL = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 0.0)  # of polynomials, which are orthonormal

Matrix = NDArray[np.float64]


class Data(NamedTuple):
    """Rows to fit to, and functions of a fitted model and conditions held out."""

    X: Any
    Y: Any
    X_validation: Any
    X_test: Any
    loss: Callable[[Any, Any], float]


def jdl(scales: Sequence[float], names: Sequence[str], **arguments: Any) -> Family:
    """Return joint distributions with free marginals, exact ones, or the paper's constraints.

    Parameters
    ----------
    scales : sequence of float
        The scales of both kernels.
    names : sequence of str
        The variants.
    **arguments
        Of the estimator.
    """
    variants = {
        "JDL": Variant(RIDGES, {"marginals": "free"}),
        "JDL exact": Variant(RIDGES, {"marginals": "exact"}),
        "JDL tightened": Variant(FEW, {"marginals": "total", "positivity": "tightened"}),
    }
    return _kernel_family(JointDistribution, variants, scales, names, arguments)


def cme(scales: Sequence[float], names: Sequence[str], **arguments: Any) -> Family:
    """Return conditional mean embeddings, without constraints or with those on average.

    Parameters
    ----------
    scales, names, **arguments
        As for joint distributions.
    """
    average = {"normalization": "average", "positivity": "average"}
    variants = {"CME": Variant(RIDGES), "CME average": Variant(RIDGES, average)}
    return _kernel_family(ConditionalMeanEmbedding, variants, scales, names, arguments)


def jpdl(names: Sequence[str]) -> Family:
    """Return polynomial models of degree four, or those that are sums of squares.

    Parameters
    ----------
    names
        As for joint distributions.
    """
    variants = {"JPDL": Variant(SMALL), "JPDL sos": Variant(FEW, {"positivity": "sos"})}

    def make(_: float, __: float) -> PolynomialJointDistribution:
        return PolynomialJointDistribution(4, regularization=1.0, random_state=0)

    return Family(make, {name: variants[name] for name in names if name in variants})


def _kernel_family(
    kind: Any,
    variants: dict[str, Variant],
    scales: Sequence[float],
    names: Sequence[str],
    arguments: dict[str, Any],
) -> Family:
    def make(scale_x: float, scale_y: float) -> Any:
        kernels = Gaussian(scale_x), Gaussian(scale_y)
        return kind(*kernels, regularization=1.0, random_state=0, **arguments)

    middle = scales[len(scales) // 2]
    of_y = (middle, *(scale for scale in scales if scale != middle))
    return Family(make, {n: variants[n] for n in names if n in variants}, scales, of_y)


def compared(families: Sequence[Family], data: Data) -> Iterator[Row]:
    """Yield what comes of each model: chosen on some conditions, tested on others.

    Parameters
    ----------
    families : sequence of Family
        The models.
    data : Data
        The rows.
    """
    for family in families:
        found = search(
            family,
            to_device(data.X),
            to_device(data.Y),
            lambda model: data.loss(model, data.X_validation),
        )
        for name in family.variants:
            yield {"model": name, **(_tested(found[name], data) if name in found else {})}


def _tested(best: Best, data: Data) -> Row:
    start = process_time()
    loss = data.loss(best.model, data.X_test)
    test = process_time() - start
    law = best.model.given(to_device(data.X_test))
    return {
        "loss": loss,
        "normalization_error": float(np.max(scores.normalization_error(law))),
        "indefinite_share": scores.indefinite_share(law),
        "scale_x": best.scales[0],
        "scale_y": best.scales[1],
        "ridge": best.ridge,
        "rank_x": best.model.basis_x_.rank,
        "rank_y": best.model.basis_y_.rank,
        "fit_seconds": best.fit_seconds,
        "solve_seconds": best.solve_seconds,
        "test_seconds": test,
    }
