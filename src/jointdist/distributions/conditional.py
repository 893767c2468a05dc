r"""Conditional laws, Eq. `QXYYXcond`: what people come for.

A law of the model is a weight on each atom of the sample,
:math:`w_j(x) = \omega_j (1 + h(x, y_j)) / \text{mass}(x)`. The weights themselves are
formed only by :meth:`Conditional.weights`.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist._array import Vector
from jointdist._random import Seed, generator
from jointdist.data.encoding import Encoding
from jointdist.data.frames import to_frame
from jointdist.distributions import weights as scan
from jointdist.distributions.arguments import (
    Points,
    levels_of,
    numbers_of,
    points_of,
    require_numbers,
    within_numbers,
)
from jointdist.distributions.drawing import axes, bars, curves
from jointdist.distributions.signed import Laws, Projection
from jointdist.errors import (
    SignedDistributionWarning,
    Text,
    is_number,
    is_whole,
    require,
    warn_user,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Conditional"]


class Conditional:
    r"""One law per condition, evaluated when asked.

    The first axis of every result is that of the laws. A side of one column has scalar
    laws, without an axis for columns; of several, the columns are the last axis.

    By default no weight is negative: the laws of a model are projected when they are asked
    for, and :meth:`projection` tells how far that has moved them. With other kinds of
    ``positivity`` laws may be *signed*, so that some weights are negative. Means,
    probabilities, cdfs, densities and all other expectations are then those of the
    signed law; quantiles are those of the running maximum of its cdf; draws follow these
    quantiles, and for several columns or words the law with negative weights set to
    zero. :meth:`negative_share` tells how much is at stake.

    The laws of a :class:`~jointdist.ConditionalMeanEmbedding` are not divided by their
    :meth:`mass`. What is linear in the law is then that of the embedding: means and other
    expectations, probabilities, cdfs, densities, weights. The rest is that of the law
    divided by its mass: variances and covariances, quantiles, draws, modes.

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

    def __init__(self, dists: Laws) -> None:
        self._laws, self._atoms = dists, dists.atoms

    def __len__(self) -> int:
        return self._laws.queries.n

    def __getitem__(self, index: Any) -> "Conditional":
        """Return the chosen laws; a single number gives one law."""
        try:
            chosen = np.atleast_1d(np.arange(len(self))[index])
        except IndexError as error:
            msg = f"Conditional: {error}, where there are {len(self)} laws"
            raise IndexError(msg) from None
        ok = chosen.size and chosen.ndim == 1 and index is not None
        require(ok, "Conditional", "index", "a choice of at least one law", index)
        return Conditional(self._laws.take(chosen))

    def __iter__(self) -> Iterator["Conditional"]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        atoms, dists = self._atoms, f"{len(self):,} law{'s' * (len(self) != 1)}"
        columns = "one column" if atoms.width == 1 else f"{atoms.width} columns"
        told = f"Conditional({dists} of {columns} on {atoms.n:,} atoms"
        if self.encoding.numeric and atoms.width == 1:
            first = ", ".join(f"{mean:.4g}" for mean in self[:4].mean())
            told += f"; means {first}{', ...' * (len(self) > 4)}"
        return told + ")"

    @property
    def encoding(self) -> Encoding:
        """What the columns of the laws are: their names, and the words in them."""
        return self._laws.encoding

    @property
    def is_discrete(self) -> bool:
        """Whether the laws are of words, or of few values that are taken many times."""
        return self._atoms.discrete

    def mass(self) -> Vector:
        """Return the weight of each law before it was normalised.

        It is one for marginals ``"exact"``. Where it is not positive there is no law,
        and answers are NaN. An embedding is not normalised: there it is the sum of the
        weights.
        """
        return self._laws.masses()

    def expect(self, f: Callable[[Any], ArrayLike]) -> NDArray[np.float64]:
        """Return the expectation of a function, in one pass over the atoms.

        Parameters
        ----------
        f : callable
            From atoms, of shape ``(b,)`` or ``(b, d)``, to ``b`` numbers or ``b``
            arrays of numbers of the same shape. It sees the atoms in blocks.
        """
        shape: list[tuple[int, ...]] = []

        def values(z: Vector) -> Vector:
            found = numbers_of("expect", "f", f, self._atoms.decoded(z))
            shape.append(found.shape[1:])
            return found.reshape(len(found), -1)

        means = self._laws.expect(values)
        return means.reshape(len(self), *shape[0])

    def prob(self, event: Callable[[Any], ArrayLike]) -> Vector:
        """Return the probability of an event.

        Parameters
        ----------
        event : callable
            From atoms, of shape ``(b,)`` or ``(b, d)``, to ``b`` times True or False. It
            sees the atoms in blocks.
        """

        def happens(z: Vector) -> Vector:
            found = numbers_of("prob", "event", event, self._atoms.decoded(z), bool)
            return found[:, None]

        return self._laws.expect(happens)[:, 0]

    def mean(self) -> Vector:
        """Return the means, of shape ``(q,)`` or ``(q, d)``."""
        self._require_numbers("mean")
        shift = np.multiply.outer(self._laws.totals(), self._laws.origin)
        return self._shaped(self._laws.means() + shift)

    def second_moment(self) -> Vector:
        """Return the means of squares, or of products of columns ``(q, d, d)``."""
        self._require_numbers("second_moment")
        v, o = self._laws.means(), self._laws.origin
        cross = v[:, :, None] * o
        both = (
            self._laws.products()
            + cross
            + np.swapaxes(cross, 1, 2)
            + np.multiply.outer(self._laws.totals(), np.multiply.outer(o, o))
        )
        return both[:, 0, 0] if self._atoms.width == 1 else both

    def cov(self) -> Vector:
        """Return the covariance matrices ``(q, d, d)``; variances for one column."""
        self._require_numbers("cov")
        cov = self._laws.covariances()
        return cov[:, 0, 0] if self._atoms.width == 1 else cov

    def var(self) -> Vector:
        """Return the variances; a signed law may have a negative one."""
        self._require_numbers("var")
        return self._shaped(self._laws.variances())

    def std(self) -> Vector:
        """Return the standard deviations; NaN where a signed law has none."""
        self._require_numbers("std")
        var = self.var()
        if (var < 0).any():
            msg = (
                f"Conditional.std: the variance of {(var < 0).sum()} signed laws is "
                "negative, and the result NaN. Raise `regularization`, or ask the "
                "model for `positivity`."
            )
            warn_user(msg, SignedDistributionWarning)
        return np.sqrt(np.where(var < 0, np.nan, var))

    def cdf(self, y: object, *, grid: bool | None = None) -> Vector:
        """Return the probability of values up to ``y``, in all columns.

        Parameters
        ----------
        y : number, or array of shape (k,) or (k, d)
            A point for all laws, or several.
        grid : bool, optional
            Whether every law is asked at every point, with a result ``(q, k)``, or law i
            at point i. By default the latter if there are as many points as laws.
        """
        self._require_numbers("cdf")
        points = self._points("cdf", within_numbers(y), grid)
        found = self._laws.cdf(points.at, paired=points.paired)
        return found[:, 0] if points.alone else found

    def quantile(self, levels: ArrayLike) -> Vector:
        """Return quantiles: the lowest value at which the cdf reaches the level.

        Parameters
        ----------
        levels : float or array of shape (l,)
            Levels between zero and one.

        Returns
        -------
        array of shape (q,) or (q, l), with a last axis for several columns
            The quantiles, of each column by itself.
        """
        return self._quantile("quantile", levels)

    def median(self) -> Vector:
        """Return the medians, of each column by itself."""
        return self._quantile("median", 0.5)

    def interval(self, level: float = 0.9) -> Vector:
        """Return the lower and upper end of central intervals, ``(q, 2)``.

        Parameters
        ----------
        level : float, default=0.9
            The probability inside; half of the rest is on either side.
        """
        ok = is_number(level, least=0, below=1) and level > 0
        require(ok, "Conditional.interval", "level", "a number between 0 and 1", level)
        return self._quantile("interval", [(1 - level) / 2, (1 + level) / 2])

    def pdf(self, y: object, *, grid: bool | None = None) -> Vector:
        """Return the density.

        That of a valid law is the law itself, smoothed as widely as Silverman's rule says of
        its spread and effective size; it integrates to one. That of a signed law is the
        sample, smoothed, times the ratio of the model, and integrates to one up to the
        smoothing; of an embedding, a Gaussian of the same width around each of its atoms,
        times their weights.

        Parameters
        ----------
        y : number, or array of shape (k,) or (k, d)
            A point for all laws, or several.
        grid : bool, optional
            As in :meth:`cdf`.
        """
        return self._pdf("pdf", y, grid)

    def logpdf(self, y: object, *, grid: bool | None = None) -> Vector:
        """Return the logarithm of the density; minus infinity where that is not positive.

        That of a valid law is finite wherever y is.

        Parameters
        ----------
        y : number, or array of shape (k,) or (k, d)
            A point for all laws, or several.
        grid : bool, optional
            As in :meth:`cdf`.
        """
        return self._pdf("logpdf", y, grid, log=True)

    def sample(self, size: int = 1, *, random_state: Seed = None) -> NDArray[Any]:
        """Draw from each law, ``(q, size)`` or ``(q, size, d)``.

        Parameters
        ----------
        size : int, default=1
            The number of draws from each law.
        random_state : int, Generator, RandomState, optional
            The seed.
        """
        where = "Conditional.sample"
        require(is_whole(size, least=1), where, "size", "an integer of at least 1", size)
        uniform = generator(where, random_state).random((len(self), size))
        return self._known(self._laws.normalised.draws(uniform))

    def mode(self) -> NDArray[Any]:
        """Return the most likely value: of the largest density, or probability.

        Equal rows count together where they are few; else, with words or a constant
        column, it is the atom of the largest weight. Costs a scan over the atoms.
        """
        return self._known(self._laws.normalised.modes())

    def weights(self) -> Vector:
        """Return the weight of every atom under every law, ``(q, n)``."""
        return self._laws.each(lambda t, m, _: scan.all_weights(self._atoms, t, m))

    def support_points(self) -> NDArray[Any]:
        """Return the values that the weights are on, ``(n,)`` or ``(n, d)``.

        Laws of a :class:`~jointdist.DistributionRegressor` have atoms of their own, with a
        first axis for the laws.
        """
        return self._atoms.decoded(self._laws.points())

    def negative_share(self) -> Vector:
        """Return the negative weight, as a share of all weight taken as positive.

        Zero for a valid law. Costs a scan over all atoms.
        """
        atoms, dists = self._atoms, self._laws.normalised
        return dists.each(lambda t, m, _: scan.negative_share(atoms, t, m))

    def projection(self) -> Projection:
        """Return how far valid laws are from the signed ones that they stand for.

        Only laws with ``positivity`` ``"projected"`` or ``"isotonic"`` have been projected.
        """
        report = self._laws.projection()
        rule = 'of a model with positivity "projected" or "isotonic"'
        if report is None:
            require(False, "Conditional.projection", "the law", rule, Text("not projected"))
            raise AssertionError
        return report

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights: how many atoms the law is worth."""
        return self._laws.normalised.effective_size()

    def novelty(self) -> Vector:
        """Return how unlike the rows of the sample each condition is, from zero to one.

        The share of the kernel at the condition that the landmarks of the sample do not
        represent, or that exceeds the kernel of all rows, if it has no bound. Near one, the
        model has seen nothing alike, and the law says little.
        """
        return self._laws.queries.novelty()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the densities of up to eight scalar laws, or bars of their probabilities.

        Needs matplotlib (``pip install jointdist[plot]``).

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default on new axes.
        """
        where, got = "Conditional.plot", Text(f"{len(self)}; choose some, as law[:8]")
        require(len(self) <= 8, where, "the law", "of at most 8 conditions", got)
        one, got = self._atoms.width == 1, Text(f"{self._atoms.width}")
        require(one, where, "the law", "of one column", got)
        drawn = self._laws.few or not self._atoms.discrete
        require(drawn, where, "the law", "of numbers or few words", Text("many words"))
        ax = axes(where, ax)
        title, labels = self._laws.queries.labels()
        if self._laws.few:
            known = self._atoms.distinct
            chances = self._laws.expected(known.sums.T)
            bars(ax, self._atoms.decoded(known.points), chances, labels)
        else:
            low, high = np.quantile(self.support_points(), [0.002, 0.998])
            margin = 0.05 * (high - low)
            y = np.linspace(low - margin, high + margin, 400)
            curves(ax, y, self.pdf(y, grid=True), labels)
        if self.encoding.names:
            ax.set_xlabel(self.encoding.names[0])
        if len(self) > 1:
            ax.legend(title=title)
        return ax

    def to_frame(self, levels: ArrayLike = (0.05, 0.5, 0.95)) -> Any:
        """Return means, standard deviations and quantiles as a DataFrame, a row a law.

        For a column of words, the probability of each.

        Parameters
        ----------
        levels : array of shape (l,), default=(0.05, 0.5, 0.95)
            The levels of the quantiles.
        """
        atoms = self._atoms
        if atoms.width == 1 and not self.encoding.numeric and atoms.few:
            chances = self._laws.expected(atoms.distinct.sums.T)
            words = atoms.decoded(atoms.distinct.points)
            return to_frame(dict(zip(map(str, words), chances.T, strict=True)))
        levels = np.atleast_1d(levels)
        told = {"mean": self.mean(), "std": self.std()}
        found = self.quantile(levels)
        told |= {f"q{level:g}": found[:, i] for i, level in enumerate(levels)}
        return to_frame(told, self.encoding.names or tuple(map(str, range(atoms.width))))

    def _shaped(self, values: Vector) -> Vector:
        return values[..., 0] if self._atoms.width == 1 else values

    def _known(self, points: Vector) -> NDArray[Any]:
        """Return coded points as users know them; None or NaN where there is no law."""
        none: NDArray[np.bool_] = np.asarray(np.isnan(points).any(axis=-1))
        if self.encoding.numeric or not none.any():
            return self._atoms.decoded(points)
        known = self._atoms.decoded(np.where(none[..., None], 0.0, points)).astype(object)
        known[none] = None
        return known

    def _quantile(self, method: str, levels: ArrayLike) -> Vector:
        self._require_numbers(method)
        p = levels_of(method, levels)
        found = self._shaped(self._laws.normalised.quantile(np.atleast_1d(p)))
        return found[:, 0] if p.ndim == 0 else found

    def _pdf(
        self, method: str, y: object, grid: bool | None, *, log: bool = False
    ) -> Vector:
        got = Text("a discrete variable, which has none; ask `prob`, `mode` or `weights`")
        smooth, where = not self._atoms.discrete, f"Conditional.{method}"
        require(smooth, where, "y", "of a variable with a density", got)
        points = self._points(method, y, grid)
        found = self._laws.density(points.at, paired=points.paired, log=log)
        return found[:, 0] if points.alone else found

    def _points(self, method: str, y: object, grid: bool | None) -> Points:
        return points_of(method, self.encoding, len(self), y, grid=grid)

    def _require_numbers(self, method: str) -> None:
        require_numbers(method, self.encoding)
