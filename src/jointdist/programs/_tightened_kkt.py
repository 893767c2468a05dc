"""What the coefficients of a tightened program are worth: its optimality conditions."""

import numpy as np

from jointdist._array import Vector
from jointdist.programs._tightened_dual import Point, Terms, coefficients
from jointdist.programs.solution import Certificate

__all__ = ["ROUNDING", "certificate_of", "normalised"]

ROUNDING = 1e-12  # violation of a constraint that the rounding of its terms may leave


def normalised(terms: Terms, h: Vector) -> Vector:
    """Impose the normalisation on coefficients whose multipliers were not found."""
    if terms.e is None:
        return h
    eh, ew = terms.e * h, terms.e * terms.weight
    off, square = float(eh.sum()), float(terms.e @ ew)
    if abs(off) <= ROUNDING * max(1.0, float(np.abs(eh).sum())) or square <= 0:
        return h
    return h - off / square * ew


def certificate_of(
    terms: Terms, a: Vector, h: Vector, point: Point, value: float
) -> Certificate:
    """Return the residuals, each relative to the terms that it is the sum of."""
    mu, nu = point.mu, point.nu
    pull = np.zeros_like(h) if terms.e is None else mu * terms.e
    r = terms.b - pull
    low, high = r + nu * terms.lower, r + nu * terms.upper
    wanted = np.where(h > 0, low, np.where(h < 0, high, np.clip(0.0, low, high)))
    size = np.abs(terms.b) + np.abs(pull)
    size += nu * np.maximum(np.abs(terms.lower), np.abs(terms.upper))
    scale = max(float(size.max(initial=0.0)), np.finfo(float).tiny)
    stationarity = float(np.abs(a * h - wanted).max(initial=0.0)) / scale
    parts = np.minimum(terms.lower * h, terms.upper * h)
    slack = (1 + float(parts.sum())) / (1 + float(np.abs(parts).sum()))
    off = 0.0
    if terms.e is not None:
        eh = terms.e * h
        off = abs(float(eh.sum())) / max(1.0, float(np.abs(eh).sum()))
    dual = h if stationarity <= ROUNDING else coefficients(terms, mu, nu)
    bound = -float(np.sum(a * dual * dual)) - 2 * nu
    gap = max(value - bound, 0.0) / max(abs(value), np.finfo(float).tiny)
    return Certificate(
        stationarity, max(off, -slack, 0.0), max(slack, 0.0) if nu > 0 else 0.0, gap
    )
