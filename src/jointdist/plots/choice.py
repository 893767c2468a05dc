"""What a search over ridges and scales of kernels has seen, and what it chose."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jointdist.drawing import axes, band
from jointdist.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ridge_path", "scale_map"]

Vector = NDArray[np.float64]

_FAR = 10.0  # times the median distance from the best, beyond which scores are cut off


class _Candidate(Protocol):
    factor_x: float
    factor_y: float
    regularizations: Vector
    scores: Vector
    errors: Vector


class _Selection(Protocol):
    candidates: Sequence[_Candidate]
    best: int
    regularization: float
    criterion: str


def ridge_path(source: Any, *, ax: "Axes | None" = None) -> "Axes":
    r"""Draw the criterion of a search over the ridges :math:`\lambda`.

    A faint line for each pair of kernels, a strong one for the chosen pair, with a band of
    one standard error where it is known, and a ring at the chosen ridge. A ring at an
    end says that the range of ridges was too narrow.

    Parameters
    ----------
    source : estimator or Selection
        A fitted model with ``selection_``, or that itself.
    ax : Axes, optional
        Where to draw; by default on new axes.
    """
    where = "ridge_path"
    found = _selection(where, source)
    ax = axes(where, ax)
    others = [c for i, c in enumerate(found.candidates) if i != found.best]
    for i, other in enumerate(others):
        label = None if i else "other scales"
        ax.plot(other.regularizations, other.scores, color="0.75", lw=0.8, label=label)
    best = found.candidates[found.best]
    ridges, scores = best.regularizations, best.scores
    ax.plot(ridges, scores, ".-", color="C0", label="chosen scales")
    if np.isfinite(best.errors).any():
        ends = scores - best.errors, scores + best.errors
        band(ax, ridges, ends, "± one standard error")
    chosen = int(np.argmin(np.abs(ridges - found.regularization)))
    label = f"chosen: {found.regularization:.2g}"
    at = ridges[chosen], scores[chosen]
    ax.plot(*at, "o", color="black", fillstyle="none", markersize=11, label=label)
    ax.set_xscale("log")
    ax.set_ylim(*_window(found))
    ax.set_xlabel("ridge λ")
    ax.set_ylabel(found.criterion)
    ax.legend()
    return ax


def scale_map(source: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the best criterion over all ridges for each pair of scales that was tried.

    Scales are factors of those by the median heuristic. A ring marks the chosen pair; at
    the border it says that wider or narrower kernels were not tried. Pairs that failed are
    left out.

    Parameters
    ----------
    source : estimator or Selection
        A fitted model with ``selection_``, or that itself.
    ax : Axes, optional
        Where to draw; by default on new axes.
    """
    where = "scale_map"
    found = _selection(where, source)
    ax = axes(where, ax)
    x, y = (np.array([getattr(c, f"factor_{s}") for c in found.candidates]) for s in "xy")
    scores = np.array([_best(candidate) for candidate in found.candidates])
    points = ax.scatter(x, y, c=scores, s=160, cmap="viridis", edgecolors="0.4")
    at = x[found.best], y[found.best]
    ax.plot(*at, "o", color="black", fillstyle="none", markersize=20, markeredgewidth=2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.margins(0.15)
    ax.set_xlabel("scale of X, times the median heuristic")
    ax.set_ylabel("scale of Y, times the median heuristic")
    ax.figure.colorbar(points, ax=ax, label=f"{found.criterion}, at the best ridge")
    return ax


def _selection(where: str, source: Any) -> _Selection:
    found: _Selection = getattr(source, "selection_", source)
    rule = "a fitted model that has chosen its ridge, or its `selection_`"
    require(hasattr(found, "candidates"), where, "source", rule, source)
    return found


def _best(candidate: _Candidate) -> float:
    """Return the lowest score; NaN if all failed."""
    known = candidate.scores[np.isfinite(candidate.scores)]
    return float(known.min()) if known.size else np.nan


def _window(found: _Selection) -> tuple[float | None, float | None]:
    """Return the range of scores worth seeing, without those that are far off."""
    best = found.candidates[found.best]
    scores = best.scores[np.isfinite(best.scores)]
    ends = best.scores - np.nan_to_num(best.errors)
    low = float(np.nanmin([*map(_best, found.candidates), *ends]))
    top = min(float(scores.max()), low + _FAR * float(np.median(scores) - low))
    margin = 0.1 * (top - low)
    return (low - margin, top + margin) if margin > 0 else (None, None)
