"""Validation as in the paper: of all candidates, the best on rows held out.

The scale of the kernel of X is chosen first, then that of Y. Models of a family share one
fit for each pair of scales: ridges and constraints are solved from its moments, without
another pass over the rows.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from jointdist.errors import InfeasibleError, SignedDistributionWarning, ToleranceWarning

__all__ = ["Best", "Family", "Variant", "made_valid", "search"]


class Variant(NamedTuple):
    """Parameters of a model that need no new fit, and the ridges it chooses from."""

    ridges: Sequence[float]
    params: Mapping[str, object] = {}


@dataclass(frozen=True)
class Family:
    """Models that share their fits.

    Attributes
    ----------
    make : callable
        From the scales of X and Y to an estimator.
    variants : mapping
        The models by name.
    scales_x, scales_y : sequence of float
        The scales of the kernels. The first of Y is that with which X is chosen.
    valid : mapping
        Further models by name, and which of the variants each is when its laws are made
        valid, with the same scales and ridge.
    """

    make: Callable[[float, float], Any]
    variants: Mapping[str, Variant]
    scales_x: Sequence[float] = (1.0,)
    scales_y: Sequence[float] = (1.0,)
    valid: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of all models."""
        return [*self.variants, *self.valid]


@dataclass(frozen=True)
class Best:
    """A model, and how it fared on rows held out.

    Attributes
    ----------
    model : estimator
        The model, fitted.
    loss : float
        The loss on rows held out; NaN for laws that are made valid.
    scales : tuple of float
        The scales of X and Y.
    ridge : float
        The ridge.
    fit_seconds : float
        Processor time for pivots and moments, and a first solution.
    solve_seconds : float
        That for the solution with these ridge and constraints.
    """

    model: Any = field(repr=False)
    loss: float
    scales: tuple[float, float]
    ridge: float
    fit_seconds: float
    solve_seconds: float


def search(family: Family, X: Any, Y: Any, loss: Callable[[Any], float]) -> dict[str, Best]:
    """Return the best model of each variant.

    Models whose constraints cannot be met, or whose laws have no mass somewhere, are left
    out; a variant of which none is left is missing.

    Parameters
    ----------
    family : Family
        The models.
    X, Y : array
        The rows to fit to.
    loss : callable
        From a fitted model to its loss on rows held out.
    """
    best: dict[str, Best] = {}

    def enter(scale_x: float, scale_y: float) -> None:
        for name, one in _tried(family, (scale_x, scale_y), X, Y, loss):
            if name not in best or one.loss < best[name].loss:
                best[name] = one

    first, *others = family.scales_y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignedDistributionWarning)  # of laws without mass
        warnings.simplefilter("ignore", ToleranceWarning)  # of programs at tiny ridges
        for scale in family.scales_x:
            enter(scale, first)
        for scale in sorted({one.scales[0] for one in best.values()}):
            for other in others:
                enter(scale, other)
    for name, of in family.valid.items():
        if of in best:
            best[name] = made_valid(best[of])
    return best


def made_valid(best: Best) -> Best:
    """Return a model with the same scales and ridge, whose laws are made valid.

    Parameters
    ----------
    best : Best
        The model, with signed laws.
    """
    return replace(best, model=best.model.refit(positivity="projected"), loss=np.nan)


def _tried(
    family: Family,
    scales: tuple[float, float],
    X: Any,
    Y: Any,
    loss: Callable[[Any], float],
) -> Iterator[tuple[str, Best]]:
    """Yield all models with these scales that have a loss."""
    start = process_time()
    fitted = family.make(*scales).fit(X, Y)
    fit = process_time() - start
    for name, variant in family.variants.items():
        model = fitted
        for ridge in variant.ridges:
            start = process_time()
            model = model.refit(regularization=ridge, **variant.params)
            solve = process_time() - start
            try:
                value = loss(model)
            except InfeasibleError:
                continue
            if np.isfinite(value):
                yield name, Best(model, value, scales, ridge, fit, solve)
