"""Model selection as in the paper: the candidate with the lowest validation loss.

The length scale of the kernel of X is selected first, then that of Y. Models of a family share
one fit for each pair of length scales: solutions for all ridges and constraints follow from its
moments, without another pass over the rows.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from jointdist.errors import InfeasibleError, SignedDistributionWarning, ToleranceWarning

__all__ = ["Best", "Family", "Variant", "projected", "search"]


class Variant(NamedTuple):
    """Parameters of a model that need no new pass over the rows, and its candidate ridges."""

    ridges: Sequence[float]
    params: Mapping[str, object] = {}


@dataclass(frozen=True)
class Family:
    """Models that share their fits.

    Attributes
    ----------
    make : callable
        From the length scales of X and Y to an estimator.
    variants : mapping
        The models by name.
    scales_x, scales_y : sequence of float
        The candidate length scales. Those of X are compared at the first one of Y.
    projected : mapping
        Further models by name, with the variant whose distributions each one projects to
        proper ones, at the same length scales and ridge.
    """

    make: Callable[[float, float], Any]
    variants: Mapping[str, Variant]
    scales_x: Sequence[float] = (1.0,)
    scales_y: Sequence[float] = (1.0,)
    projected: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of all models."""
        return [*self.variants, *self.projected]


@dataclass(frozen=True)
class Best:
    """A selected model and its validation loss.

    Attributes
    ----------
    model : estimator
        The fitted model.
    loss : float
        The loss on the validation rows; NaN for projected distributions.
    scales : tuple of float
        The length scales of X and Y.
    ridge : float
        The ridge.
    fit_seconds : float
        CPU time for pivots, moments and a first solution.
    solve_seconds : float
        CPU time for the solution with this ridge and these constraints.
    """

    model: Any = field(repr=False)
    loss: float
    scales: tuple[float, float]
    ridge: float
    fit_seconds: float
    solve_seconds: float


def search(family: Family, X: Any, Y: Any, loss: Callable[[Any], float]) -> dict[str, Best]:
    """Return the best model of each variant.

    Candidates are excluded if their constraints are infeasible or if a conditional
    distribution has no positive mass. A variant without any remaining candidate is missing.

    Parameters
    ----------
    family : Family
        The models.
    X, Y : array
        The training rows.
    loss : callable
        From a fitted model to its loss on the validation rows.
    """
    best: dict[str, Best] = {}

    def enter(scale_x: float, scale_y: float) -> None:
        for name, one in _tried(family, (scale_x, scale_y), X, Y, loss):
            if name not in best or one.loss < best[name].loss:
                best[name] = one

    first, *others = family.scales_y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignedDistributionWarning)  # no positive mass
        warnings.simplefilter("ignore", ToleranceWarning)  # programs with tiny ridges
        for scale in family.scales_x:
            enter(scale, first)
        for scale in sorted({one.scales[0] for one in best.values()}):
            for other in others:
                enter(scale, other)
    for name, of in family.projected.items():
        if of in best:
            best[name] = projected(best[of])
    return best


def projected(best: Best) -> Best:
    """Return a model with the same length scales and ridge and projected distributions.

    Parameters
    ----------
    best : Best
        The model with signed distributions.
    """
    return replace(best, model=best.model.refit(positivity="projected"), loss=np.nan)


def _tried(
    family: Family,
    scales: tuple[float, float],
    X: Any,
    Y: Any,
    loss: Callable[[Any], float],
) -> Iterator[tuple[str, Best]]:
    """Yield all models with these length scales whose loss is finite."""
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
