"""A fitted model under another distribution of X: covariate shift."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.encoding import Encoding
from jointdist.data.executor import executor_for
from jointdist.data.table import Rows, as_weights
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.groups import Groups
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.support_points import SupportPoints
from jointdist.models._arguments import y_for_Y
from jointdist.models.event_rows import WeightedRows, in_event, require_one
from jointdist.models.questions import Answering
from jointdist.projection.pooled import Pooled, pooled

__all__ = ["Reweighted", "reweighted"]

_LEVELS = 2048  # points that stand for the marginal of Y in scores, at equidistant levels


@dataclass(frozen=True, eq=False, repr=False)
class Reweighted:
    """A fitted model with the same p(y | x) under another distribution of X.

    Made by the method ``reweighted`` of a model.

    Attributes
    ----------
    model : estimator
        The fitted model.
    x : WeightedRows
        The rows of X, coded, with their weights.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500))
    >>> model = jd.JointDistribution(random_state=0).fit(x[:, None], x + noise)
    >>> later = model.reweighted(rng.normal(1.0, 0.3, size=(200, 1)))
    >>> bool(0.8 < later.marginal("y").mean()[0] < 1.2)
    True
    """

    model: Any
    x: WeightedRows

    def __repr__(self) -> str:
        return f"Reweighted({type(self.model).__name__}, {self.x.rows.n:,} rows of X)"

    def given(self, x: object = None, *, where: object = None) -> Conditional:
        """Return the distributions of Y given rows of X, or given that X lies in a set.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d_x), optional
            Rows of X: the answer is that of the model.
        where : str, callable, or array of shape (n,), optional
            An event, as for ``given`` of the model; the rows of X are those of the new
            distribution.
        """
        method = "Reweighted.given"
        require_one(method, x=x, where=where)
        if where is None:
            found: Conditional = self.model.given(x)
            return found
        inside = in_event(where, self.x, self._fitted.design_x, method)
        return Conditional(self._fitted.of_y_within(inside))

    def predict(self, X: object) -> Any:
        """Return the forecasts of the model.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        """
        return self.model.predict(X)

    def marginal(self, of: str) -> Conditional:
        r"""Return the marginal distribution of Y that follows, or that of X itself.

        That of Y is :math:`\sum_i w_i p(y | x_i)`: the mixture of the distributions that the
        model gives at the rows.

        Parameters
        ----------
        of : {"y", "x"}
            Which side.
        """
        require(of in ("x", "y"), "Reweighted.marginal", "of", 'one of "x" and "y"', of)
        return Conditional(self._of_y() if of == "y" else self._of_x())

    @y_for_Y
    def score(self, X: object, Y: object, sample_weight: object = None) -> float:
        """Return the skill: one minus the mean CRPS over that of the new marginal of Y.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        Y : array, DataFrame or sequence of shape (q,) or (q, d_y)
            The observed outcomes.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        method = "Reweighted.score"
        dists = self.model.given(X).distributions
        y = dists.encoding.encode(Y, where=method, name="Y", vector=True)
        n = dists.conditions.n
        rule = f"as long as `X` ({n} rows)"
        require(y.n == n, method, "Y", rule, Text(f"{y.n} rows"))
        points, weights = to_numpy(y.read(0, y.n)), as_weights(sample_weight, y)
        unit = dists.units()
        own = np.average(dists.energy_scores(points, unit=unit)[0], weights=weights)
        other = marginal_scores(self._sampled(), points, unit)
        marginal = float(np.average(other, weights=weights))
        return 1 - float(own) / marginal if marginal > 0 else float(own <= 0)

    @property
    def _fitted(self) -> Answering:
        found: Answering = self.model._fitted_model  # noqa: SLF001
        return found

    def _of_y(self) -> Distributions:
        rows, weights = self.x.rows, self.x.weights
        return pooled(self._fitted.of_y(rows), Groups.of(np.array([rows.n]), weights))

    def _of_x(self) -> Distributions:
        """Return the distribution of X: the distinct rows with their weights."""
        shown = self._fitted.design_x.shown
        table = self.x.rows.table()[:, : shown.width]
        table, which = np.unique(table, axis=0, return_inverse=True)
        weights: Vector = np.zeros(len(table))
        np.add.at(weights, which.ravel(), self.x.weights)
        points = _points(table, weights, shown)
        support = CellSupport.of_each(points, points)
        return Pooled(support, Fixed(np.zeros((1, points.n))))

    def _sampled(self) -> SupportPoints:
        """Return points at equidistant levels of the marginal of Y."""
        levels = (np.arange(_LEVELS)[None, :] + 0.5) / _LEVELS
        dists = self._of_y().normalised
        return _points(dists.draws(levels)[0], None, dists.encoding)


def _points(table: Vector, weights: Vector | None, encoding: Encoding) -> SupportPoints:
    rows = Rows(table, "Reweighted", "x")
    return SupportPoints(rows, encoding, weights, executor_for(rows))


def reweighted(
    model: Any, fitted: Answering, X: Rows | None, weights: object, where: str
) -> Reweighted:
    """Return a model under another distribution of X.

    Parameters
    ----------
    model : estimator
        The fitted model.
    fitted : Answering
        What it has learned.
    X : Rows, optional
        New rows of X, coded.
    weights : array of shape (n,), optional
        Weights of the new rows; without these, of the support points of X.
    where : str
        The method, for messages.
    """
    got = Text("neither")
    require(X is not None or weights is not None, where, "X, weights", "given", got)
    rows = fitted.points_x.rows if X is None else X
    what = "support points of X" if X is None else "rows"
    if weights is None:
        values = np.ones(rows.n)
    else:
        values = np.asarray(weights)
        good = values.dtype.kind in "biuf" and values.shape == (rows.n,)
        rule = f"one number for each of the {rows.n} {what}"
        require(good, where, "weights", rule, Text(f"shape {values.shape}"))
        values = values.astype(np.float64)
        fine = bool(np.isfinite(values).all() and (values >= 0).all() and values.any())
        rule = "finite, not negative, and positive somewhere"
        require(fine, where, "weights", rule, Text("others"))
    return Reweighted(model, WeightedRows(rows, values).positive())
