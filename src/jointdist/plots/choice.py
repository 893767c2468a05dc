"""The criterion over the ridges and length scales that a selection has tried."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jointdist._array import Vector
from jointdist._rules import require
from jointdist.distributions.drawing import axes, band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ridge_path", "scale_map"]

_FAR = 4.0  # median distances from the best score, beyond which scores are cut off: by eye


class _Candidate(Protocol):
    factor_x: float
    factor_y: float
    scales: str
    regularizations: Vector
    scores: Vector
    errors: Vector
    folds: int | None


class _Selection(Protocol):
    candidates: Sequence[_Candidate]
    best: int
    regularization: float
    criterion: str


def ridge_path(source: Any, *, ax: "Axes | None" = None) -> "Axes":
    r"""Draw the criterion of a selection over the ridges :math:`\lambda`.

    The selected candidate is a strong line, with a band of one standard error where there is
    one, and a ring at the selected ridge; others that were scored on the same folds are faint
    lines. A ring at an end shows that the range of ridges was too narrow. Very large scores
    are cut off.

    Parameters
    ----------
    source : estimator or Selection
        A fitted model with ``selection_``, or that itself.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(2, 200))
    >>> model = JointDistribution(random_state=0).fit(X[:, None], X + noise)
    >>> ax = plots.ridge_path(model)
    >>> ax.get_xlabel()
    'ridge λ'
    """
    where = "ridge_path"
    found = _selection(where, source)
    ax = axes(where, ax)
    best = found.candidates[found.best]
    others = [c for c in _comparable(found) if c is not best]
    for i, other in enumerate(others):
        label = None if i else "others"
        ax.plot(other.regularizations, other.scores, color="0.75", lw=0.8, label=label)
    ridges, scores = best.regularizations, best.scores
    ax.plot(ridges, scores, ".-", color="C0", label="chosen")
    if np.isfinite(best.errors).any():
        ends = scores - best.errors, scores + best.errors
        band(ax, ridges, ends, "± one standard error")
    chosen = int(np.argmin(np.abs(ridges - found.regularization)))
    label = f"ridge {found.regularization:.2g}"
    at = ridges[chosen], scores[chosen]
    ax.plot(*at, "o", color="black", fillstyle="none", markersize=11, label=label)
    if ridges.min() > 0:
        ax.set_xscale("log")
    else:
        ax.set_xscale("symlog", linthresh=ridges[ridges > 0].min(initial=1.0))
    ax.set_ylim(*_window(found))
    ax.set_xlabel("ridge λ")
    ax.set_ylabel(f"{found.criterion}, on held-out rows")
    ax.legend()
    return ax


def scale_map(source: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the best criterion over all ridges for each pair of length scales tried.

    Length scales are multiples of a first guess. A ring marks the selected pair; at the
    border it shows that wider or narrower kernels were not tried. Only candidates whose
    length scales are related as those of the selected one are shown.

    Parameters
    ----------
    source, ax
        As in :func:`ridge_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(2, 200))
    >>> model = JointDistribution(random_state=0).fit(X[:, None], X + noise)
    >>> ax = plots.scale_map(model)
    >>> ax.get_xlabel()
    'length scale of X, times the first guess'
    """
    where = "scale_map"
    found = _selection(where, source)
    ax = axes(where, ax)
    best = found.candidates[found.best]
    tried = [c for c in _comparable(found) if c.scales == best.scales]
    x, y = np.array([(c.factor_x, c.factor_y) for c in tried]).T
    scores = np.array([_best(candidate) for candidate in tried])
    points = ax.scatter(x, y, c=scores, s=160, cmap="viridis", edgecolors="0.4")
    at = best.factor_x, best.factor_y
    ax.plot(*at, "o", color="black", fillstyle="none", markersize=20, markeredgewidth=2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.margins(0.15)
    ax.set_xlabel("length scale of X, times the first guess")
    ax.set_ylabel("length scale of Y, times the first guess")
    ax.figure.colorbar(points, ax=ax, label=f"{found.criterion}, at the best ridge")
    return ax


def _selection(where: str, source: Any) -> _Selection:
    found: _Selection = getattr(source, "selection_", source)
    rule = "a fitted model that has chosen its ridge, or its `selection_`"
    require(hasattr(found, "candidates"), where, "source", rule, source)
    return found


def _comparable(found: _Selection) -> list[_Candidate]:
    """Return the candidates that were scored on the same folds as the chosen one."""
    best = found.candidates[found.best]
    return [c for c in found.candidates if c.folds == best.folds]


def _best(candidate: _Candidate) -> float:
    """Return the lowest score; NaN if all failed."""
    known = candidate.scores[np.isfinite(candidate.scores)]
    return float(known.min()) if known.size else np.nan


def _window(found: _Selection) -> tuple[float | None, float | None]:
    """Return the range of scores worth seeing, without those that are far off."""
    best = found.candidates[found.best]
    scores = best.scores[np.isfinite(best.scores)]
    ends = best.scores - np.nan_to_num(best.errors)
    low = float(np.nanmin([*map(_best, _comparable(found)), *ends]))
    top = min(float(scores.max()), low + _FAR * float(np.median(scores) - low))
    margin = 0.1 * (top - low)
    return (low - margin, top + margin) if margin > 0 else (None, None)
