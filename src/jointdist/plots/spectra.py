"""Eigenvalues of kernel matrices, and trace errors of their low-rank factors."""

from operator import add
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from jointdist._array import Array, Vector, array_namespace, like, to_numpy
from jointdist._rules import Text, require
from jointdist.data.executor import executor_for
from jointdist.data.table import Rows, as_weights
from jointdist.distributions.drawing import axes
from jointdist.lowrank.protocols import Features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["eigenvalues", "trace_error"]

_STYLES = {"X": ("C0", "-"), "Y": ("C1", "--"), "": ("C0", "-")}
_ROUNDING = 1e-6  # share of the trace that rounding may change


@runtime_checkable
class _Factor(Protocol):
    """A low-rank factor of a kernel matrix, as of :func:`~jointdist.pivoted_cholesky`."""

    map: Features
    trace: float
    error: float
    rows: Rows


def eigenvalues(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    r"""Draw the eigenvalues :math:`\Lambda / n` of both bases, largest first.

    The faster they decay, the smoother the kernel on the sample. A curve that ends high
    was cut by the tolerance or the rank; the legend states the share of the trace that was
    lost.

    Parameters
    ----------
    model : estimator
        A fitted model with low-rank bases of both sides.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> ax = plots.eigenvalues(JointDistribution(random_state=0).fit(X, X[:, 0]))
    >>> ax.get_yscale(), len(ax.get_lines())
    ('log', 2)
    """
    where = "eigenvalues"
    n = _moments(where, "model", model).weight
    ax = axes(where, ax)
    for side, basis in (("X", model.basis_x_), ("Y", model.basis_y_)):
        values = to_numpy(basis.eigenvalues) / n
        values = values[values > 0]
        label = f"{side}: rank {basis.rank}, misses {basis.relative_error:.1g} of the trace"
        color, style = _STYLES[side]
        ax.plot(1 + np.arange(len(values)), values, style, color=color, label=label)
    ax.set_yscale("log")
    ax.set_xlabel("index")
    ax.set_ylabel("eigenvalue / n")
    ax.legend()
    return ax


def trace_error(
    source: Any, *, sample_weight: object = None, ax: "Axes | None" = None
) -> "Axes":
    r"""Draw the trace error against the number of pivots.

    The share :math:`\operatorname{trace}(K - L_m L_m^\top) / \operatorname{trace}(K)`,
    Eq. `Bprop0`, after each of the pivots. A factor costs one pass over its rows, in blocks;
    a model costs nothing.

    Parameters
    ----------
    source : LowRank or estimator
        A factor, or a fitted model, of which both sides are drawn.
    sample_weight : array of shape (n,), optional
        The weights that the rows of a factor were given.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import kernels, pivoted_cholesky, plots
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> low = pivoted_cholesky(kernels.Gaussian(2.0), X, tol=1e-2, random_state=0)
    >>> ax = plots.trace_error(low)
    >>> pivots, errors = ax.get_lines()[0].get_data()
    >>> float(errors[0].round(6)), bool(errors[-1] <= 1e-2)
    (1.0, True)
    """
    where = "trace_error"
    if isinstance(source, _Factor):
        squares = _squares(where, source, sample_weight)
        found = {"": (source.trace, source.error, squares)}
    else:
        rule = "None for a model, which has its weights"
        require(sample_weight is None, where, "sample_weight", rule, Text("some"))
        (trace_x, x), (trace_y, y) = _moments(where, "source", source).sides
        found = {
            "X": (trace_x, source.basis_x_.error, x),
            "Y": (trace_y, source.basis_y_.error, y),
        }
    ax = axes(where, ax)
    for side, (trace, error, squares) in found.items():
        left = error + np.append(np.cumsum(squares[::-1])[::-1], 0.0)  # no cancellation
        color, style = _STYLES[side]
        ax.plot(np.arange(len(left)), left / trace, style, color=color, label=side)
    ax.set_yscale("log", nonpositive="mask")
    ax.set_xlabel("pivots")
    ax.set_ylabel("trace error, share of the trace")
    if len(found) > 1:
        ax.legend()
    return ax


def _moments(where: str, name: str, model: Any) -> Any:
    rule = "a fitted model with low-rank bases of both sides"
    known = hasattr(model, "moments_") and hasattr(model, "basis_y_")
    require(known, where, name, rule, model)
    return model.moments_


def _squares(where: str, low: _Factor, sample_weight: object) -> Vector:
    """Return the sums of squares of the columns of a factor, in one pass."""
    weights = as_weights(sample_weight, low.rows)

    def block(start: int, z: Array) -> Array:
        squares = low.map.features(z) ** 2
        if weights is None:
            return array_namespace(squares).sum(squares, axis=0)
        return like(weights[start : start + z.shape[0]], z) @ squares

    squares: Vector = to_numpy(executor_for(low.rows).reduce(add, block, low.rows))
    lost = abs(low.trace - low.error - squares.sum()) / low.trace
    rule, got = "the weights that the rows were given", Text("others")
    require(lost < _ROUNDING, where, "sample_weight", rule, got)
    return squares
