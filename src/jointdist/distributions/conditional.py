r"""Conditional distributions, Eq. `QXYYXcond`: Bayes' rule on the support points.

A conditional distribution of the model is a weight on each support point,
:math:`w_j(x) = \omega_j (1 + h(x, y_j)) / \text{mass}(x)`. The weights themselves are formed
only by :meth:`Conditional.weights`.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist._array import Vector
from jointdist._rules import Seed, Text, generator, is_number, is_whole, require
from jointdist.data.encoding import Encoding
from jointdist.data.events import Event, happens, named, values_of
from jointdist.distributions.arguments import (
    decoded,
    decoded_or_none,
    levels_of,
    points_of,
    reported,
    require_numbers,
    roots_of,
    within_numbers,
)
from jointdist.distributions.choice import Chosen, choose
from jointdist.distributions.protocols import Distributions, IntervalRule, Projection
from jointdist.distributions.tabulation import diagnostics_of, frame_of, plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Conditional"]


class Conditional:
    r"""Conditional distributions, one for each condition, evaluated lazily.

    The first axis of every result is that of the distributions. If the variable has one
    column, distributions are scalar, without an axis for columns; if it has several, the
    columns are the last axis.

    By default no weight is negative: the distributions of a model are projected onto proper
    ones, and :meth:`projection` reports how far that has moved them. With other kinds of
    ``positivity`` distributions may be *signed*: some weights are negative. Means,
    probabilities, cdfs, densities and all other expectations are then those of the signed
    distribution; quantiles are those of the running maximum of its cdf; draws follow these
    quantiles or, for several columns or categories, the distribution with negative weights
    set to zero. :meth:`negative_share` reports how much weight is negative.

    The distributions of a :class:`~jointdist.ConditionalMeanEmbedding` are not divided by
    their :meth:`mass`. What is linear in the distribution is then that of the embedding: means
    and other expectations, probabilities, cdfs, densities, weights. The rest is computed
    after division by the mass: variances and covariances, quantiles, draws, modes.

    Parameters
    ----------
    distributions : Distributions
        What answers the questions.
    intervals : IntervalRule, optional
        What gives intervals, if not quantiles.
    index : index of pandas, optional
        The labels of the conditions, which frames keep.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> y = x + 0.5 * rng.normal(size=2000)
    >>> dist = jd.JointDistribution(random_state=0).fit(x[:, None], y).given(x=[[-1.0], [1.0]])
    >>> dist.mean().round(1)
    array([-1.,  1.])
    >>> dist.quantile([0.05, 0.95]).shape, dist.prob(lambda y: y > 0).shape
    ((2, 2), (2,))
    """

    def __init__(
        self,
        distributions: Distributions,
        intervals: IntervalRule | None = None,
        index: Any = None,
    ) -> None:
        self._dists, self._intervals, self._index = distributions, intervals, index

    def __len__(self) -> int:
        return self._dists.conditions.n

    def __getitem__(self, index: Any) -> "Conditional":
        """Return the chosen distributions; a single number gives one distribution.

        The name of a column, or a list of names, gives the marginals of these columns.
        """
        return Conditional(*choose(self.parts, index))

    def __iter__(self) -> Iterator["Conditional"]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        q, d = len(self), self.encoding.width
        columns = "one column" if d == 1 else f"{d} columns"
        text = f"Conditional({q:,} distribution{'s' * (q != 1)} of {columns} on "
        text += f"{self._dists.n_points:,} support points"
        if self.encoding.numeric and d == 1:
            first = ", ".join(f"{mean:.4g}" for mean in self[:4].mean())
            text += f"; means {first}{', ...' * (q > 4)}"
        return text + ")"

    @property
    def distributions(self) -> Distributions:
        """What answers the questions, on coded points and without checks."""
        return self._dists

    @property
    def parts(self) -> Chosen:
        """The distributions, the rule of their intervals, and the labels of the conditions."""
        return Chosen(self._dists, self._intervals, self._index)

    @property
    def encoding(self) -> Encoding:
        """The columns of the distributions: their names, and their categories."""
        return self._dists.encoding

    @property
    def is_discrete(self) -> bool:
        """Whether the variable is categorical, or has few values that are taken often."""
        return self._dists.is_discrete

    def mass(self) -> Vector:
        """Return the sum of the weights of each distribution before normalisation.

        It is one for marginals ``"exact"``. Where it is not positive there is no
        distribution, and answers are NaN. An embedding is not normalised.
        """
        return self._dists.masses()

    def expect(self, f: Callable[[Any], ArrayLike]) -> NDArray[np.float64]:
        """Return the expectation of a function, in one pass over the support points.

        Parameters
        ----------
        f : callable
            From points, ``(b,)`` or ``(b, d)``, to ``b`` numbers or ``b`` arrays of numbers of
            the same shape. It is called with blocks of support points, whose columns it can
            also have by name, as ``y["delay"]``.
        """
        shape: list[tuple[int, ...]] = []

        def values(z: Vector) -> Vector:
            points = named(self.encoding, z, side=self._dists.side)
            found = values_of(f, points, where="Conditional.expect", name="f")
            shape.append(found.shape[1:])
            return found.reshape(len(found), -1)

        means = self._dists.expect(values)
        return means.reshape(len(self), *shape[0])

    def prob(self, event: Event) -> Vector:
        """Return the probability of an event.

        Parameters
        ----------
        event : str or callable
            An expression over columns, as ``"delay > 30 and origin in ('JFK', 'LGA')"``; see
            :mod:`jointdist.data.expressions`. Columns without names are ``y``, or ``y0``,
            ``y1`` and so on. Or a function from points to True or False, as in :meth:`expect`.
        """
        where, side = "Conditional.prob", self._dists.side

        def happened(z: Vector) -> Vector:
            found = happens(event, self.encoding, z, where=where, name="event", side=side)
            return found[:, None].astype(np.float64)

        return self._dists.expect(happened)[:, 0]

    def mean(self) -> Vector:
        """Return the means, of shape ``(q,)`` or ``(q, d)``."""
        require_numbers("mean", self.encoding)
        return self._shaped(self._dists.means())

    def second_moment(self) -> Vector:
        """Return the means of squares, or of products of columns ``(q, d, d)``."""
        require_numbers("second_moment", self.encoding)
        found = self._dists.second_moments()
        return found[:, 0, 0] if self.encoding.width == 1 else found

    def cov(self) -> Vector:
        """Return the covariance matrices ``(q, d, d)``; variances for one column."""
        require_numbers("cov", self.encoding)
        found = self._dists.covariances()
        return found[:, 0, 0] if self.encoding.width == 1 else found

    def var(self) -> Vector:
        """Return the variances; a signed distribution may have a negative one."""
        require_numbers("var", self.encoding)
        return self._shaped(self._dists.variances())

    def std(self) -> Vector:
        """Return the standard deviations; NaN where the variance is negative."""
        require_numbers("std", self.encoding)
        return roots_of(self.var())

    def cdf(self, y: object, *, grid: bool | None = None) -> Vector:
        """Return the probability of values up to ``y``, in all columns.

        Parameters
        ----------
        y : number, or array of shape (k,) or (k, d)
            A point for all distributions, or several.
        grid : bool, optional
            Whether all distributions are evaluated at all points, with a result ``(q, k)``,
            or distribution i at point i. By default the latter if there are as many points as
            distributions.
        """
        require_numbers("cdf", self.encoding)
        points = points_of("cdf", self.encoding, len(self), within_numbers(y), grid=grid)
        found = self._dists.cdf(points.at, paired=points.paired)
        return found[:, 0] if points.alone else found

    def quantile(self, levels: ArrayLike) -> Vector:
        """Return quantiles: the lowest value at which the cdf reaches the level.

        Of shape ``(q,)`` or ``(q, l)``, with a last axis for several columns, each by itself.

        Parameters
        ----------
        levels : float or array of shape (l,)
            Levels between zero and one.
        """
        return self._quantile("quantile", levels)

    def median(self) -> Vector:
        """Return the medians, of each column by itself."""
        return self._quantile("median", 0.5)

    def interval(self, level: float = 0.9) -> Vector:
        """Return the lower and upper end of central intervals, ``(q, 2)``.

        Those of a :class:`~jointdist.ConformalCalibration` have finite-sample marginal
        coverage. Their ends are infinite if there are less than about ``2 / (1 - level)``
        calibration rows, or if too many of their outcomes were beyond all support points.

        Parameters
        ----------
        level : float, default=0.9
            The probability inside; half of the rest is on either side.
        """
        ok = is_number(level, least=0, below=1) and level > 0
        require(ok, "Conditional.interval", "level", "a number between 0 and 1", level)
        if self._intervals is not None:
            return self._intervals.at(level)
        return self._quantile("interval", [(1 - level) / 2, (1 + level) / 2])

    def pdf(self, y: object, *, grid: bool | None = None) -> Vector:
        """Return the density.

        The density of a proper distribution is a kernel density estimate of its weights,
        with Silverman's bandwidth for its spread and effective size; it integrates to one.
        That of a signed distribution is a kernel density estimate of the sample times the
        ratio of the model, and integrates to one up to the smoothing. That of an embedding is
        a Gaussian of the same bandwidth around each support point, times the weights.

        Parameters
        ----------
        y : number, or array of shape (k,) or (k, d)
            A point for all distributions, or several.
        grid : bool, optional
            As in :meth:`cdf`.
        """
        return self._pdf("pdf", y, grid)

    def logpdf(self, y: object, *, grid: bool | None = None) -> Vector:
        """Return the logarithm of the density.

        It is minus infinity where a signed density is not positive, finite for proper ones.

        Parameters
        ----------
        y : number, or array of shape (k,) or (k, d)
            A point for all distributions, or several.
        grid : bool, optional
            As in :meth:`cdf`.
        """
        return self._pdf("logpdf", y, grid, log=True)

    def sample(self, size: int = 1, *, random_state: Seed = None) -> NDArray[Any]:
        """Draw from each distribution, ``(q, size)`` or ``(q, size, d)``.

        Parameters
        ----------
        size : int, default=1
            The number of draws from each distribution.
        random_state : int, Generator, RandomState, optional
            The seed.
        """
        where = "Conditional.sample"
        require(is_whole(size, least=1), where, "size", "an integer of at least 1", size)
        uniform = generator(where, random_state).random((len(self), size))
        return decoded_or_none(self.encoding, self._dists.normalised.draws(uniform))

    def mode(self) -> NDArray[Any]:
        """Return the most likely value: of the largest density, or probability.

        Equal rows count together where the variable has few values; else, with categories or
        a constant column, it is the support point of the largest weight.
        """
        return decoded_or_none(self.encoding, self._dists.normalised.modes())

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""
        return self._dists.weights()

    def support_points(self) -> NDArray[Any]:
        """Return the values that the weights are on, ``(n,)`` or ``(n, d)``.

        Those of a :class:`~jointdist.DistributionRegressor` are other points for each
        distribution, with a first axis for the distributions.
        """
        return np.array(decoded(self.encoding, self._dists.points()))

    def negative_share(self) -> Vector:
        """Return the negative weight as a share of all absolute weight; zero if proper."""
        return self._dists.negative_share()

    def projection(self) -> Projection:
        """Return how far projected distributions are from the signed ones.

        For models with ``positivity`` ``"projected"`` or ``"isotonic"``.
        """
        return reported(self._dists.projection())

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights: the effective number of points."""
        return self._dists.effective_size()

    def novelty(self) -> Vector:
        """Return how far out of distribution each condition is, from zero to one.

        The share of the kernel at the condition that the landmarks of the sample do not
        represent, or that exceeds the kernel of all rows, if it has no bound. Near one, the
        model has seen no similar row, and a projected distribution reverts to the marginal.
        """
        return self._dists.conditions.novelty()

    def diagnostics(self) -> Any:
        """Return how far each distribution can be trusted, as a DataFrame with a row each.

        ``leverage`` is the weight of an outcome at the condition in the ridge regression of
        the leading function of Y, or of the residual; ``n_outside`` and ``outside`` are the
        columns of the condition that are outside the range seen in the fit.
        """
        return diagnostics_of(self)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw densities, or bars of probabilities, of up to eight scalar distributions.

        Needs matplotlib (``pip install jointdist[plot]``).

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default on new axes.
        """
        return plot(self, ax)

    def to_frame(self, levels: ArrayLike = (0.05, 0.5, 0.95)) -> Any:
        """Return means, standard deviations and quantiles as a DataFrame, a row each.

        For a categorical column, the probability of each category.

        Parameters
        ----------
        levels : array of shape (l,), default=(0.05, 0.5, 0.95)
            The levels of the quantiles.
        """
        return frame_of(self, levels)

    def _shaped(self, values: Vector) -> Vector:
        return values[..., 0] if self.encoding.width == 1 else values

    def _quantile(self, method: str, levels: ArrayLike) -> Vector:
        require_numbers(method, self.encoding)
        p = levels_of(method, levels)
        found = self._shaped(self._dists.normalised.quantile(np.atleast_1d(p)))
        return found[:, 0] if p.ndim == 0 else found

    def _pdf(
        self, method: str, y: object, grid: bool | None, *, log: bool = False
    ) -> Vector:
        got = Text("a discrete variable, which has none; ask `prob`, `mode` or `weights`")
        where, rule = f"Conditional.{method}", "of a variable with a density"
        require(not self.is_discrete, where, "y", rule, got)
        points = points_of(method, self.encoding, len(self), y, grid=grid)
        found = self._dists.density(points.at, paired=points.paired, log=log)
        return found[:, 0] if points.alone else found
