"""What conditions and distributions are, in terms of the questions that they answer.

A :class:`~jointdist.Conditional` holds any :class:`Distributions`: signed, projected,
isotonic, recalibrated, of an embedding, or of location-scale form. It checks what users ask,
and shapes what they get; the classes behind these protocols compute it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector
from jointdist.data.encoding import Encoding

if TYPE_CHECKING:
    from jointdist.distributions.linear import LinearDistributions

__all__ = [
    "Conditions",
    "Distributions",
    "IntervalRule",
    "LinearConditions",
    "ProbabilityTable",
    "Projection",
]


class Conditions(Protocol):
    """What many conditional distributions are conditioned on, one condition each."""

    @property
    def n(self) -> int:
        """The number of conditions."""

    def novelty(self) -> Vector:
        """Return how far out of distribution each condition is, from zero to one."""

    def leverage(self) -> Vector:
        """Return the weight of an outcome at each condition in the forecast there."""

    def outside(self) -> list[tuple[str, ...]]:
        """Return the columns of each condition that are outside the range seen."""

    def labels(self) -> tuple[str, list[str]]:
        """Return the names of the columns that tell conditions apart, and their values."""

    def take(self, rows: Any) -> Self:
        """Return the chosen conditions."""


class LinearConditions(Conditions, Protocol):
    r"""Conditions that give each distribution its coefficients :math:`t(x)`."""

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions in order, some rows at a time.

        The caller owns the arrays only until the next one, and must not write to them.
        """


class ProbabilityTable(Protocol):
    """Probabilities of the distinct values of a variable that has few."""

    @property
    def points(self) -> Vector:
        """The distinct values, coded, ``(k, d)``."""

    @property
    def marginal(self) -> Vector:
        """Their shares of the sample, ``(k,)``."""

    def probabilities(self) -> Vector:
        """Return their probabilities under each distribution, ``(q, k)``."""

    def at(self, points: Vector) -> Vector:
        """Return the probability under distribution i of point i; zero of other values."""


@dataclass(frozen=True, eq=False)
class Projection:
    """How far proper distributions are from the signed ones that were projected.

    Attributes
    ----------
    kind : {"projected", "isotonic"}
        The projection.
    missed : array of shape (q,)
        The largest error of a matched mean, in standard deviations of the sample: over the
        moments and features, or of an isotonic distribution over the mean alone.
    moved : array of shape (q,)
        The total variation distance to the signed distribution: the weight that moved.
    information : array of shape (q,)
        The Kullback-Leibler divergence from the marginal distribution: zero if the condition
        is not informative.
    effective_size : array of shape (q,)
        The effective number of support points, one over the sum of squared weights.
    converged : array of shape (q,)
        Whether the projection was found with the given ridge; if not, it is that of a larger
        ridge.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 200))
    >>> model = jd.JointDistribution(random_state=0).fit(x[:, None], x + noise)
    >>> found = model.given(x=[-1.0, 0.0, 1.0]).projection()
    >>> found.kind, found.converged.all().item(), bool(found.moved.max() < 0.5)
    ('projected', True, True)
    """

    kind: str
    missed: Vector
    moved: Vector
    information: Vector
    effective_size: Vector
    converged: NDArray[np.bool_]

    def __repr__(self) -> str:
        """Summarise the median and the largest errors."""
        q = len(self.missed)
        return (
            f"Projection({self.kind}, {q:,} distribution{'s' * (q != 1)}; a mean missed by "
            f"{np.median(self.missed):.2g}, at most {self.missed.max():.2g}; weight moved "
            f"{np.median(self.moved):.2g}, at most {self.moved.max():.2g}; effective size "
            f"{np.median(self.effective_size):.3g}; {self.converged.sum():,} converged)"
        )


class IntervalRule(Protocol):
    """A rule for intervals other than that between two quantiles."""

    def at(self, level: float) -> Vector:
        """Return the lower and upper ends of intervals of a level, ``(q, 2)``."""

    def take(self, rows: Any) -> Self:
        """Return the rule for the chosen distributions."""


class Distributions(Protocol):
    """Many conditional distributions at once.

    Results have a first axis for the ``q`` distributions and a last axis for the ``d``
    columns. Points are coded: categories are numbers. Where a signed distribution has no
    positive mass, results are NaN and a warning is issued.
    """

    @property
    def conditions(self) -> Conditions:
        """What the distributions are conditioned on."""

    @property
    def encoding(self) -> Encoding:
        """The columns: their names, and their categories."""

    @property
    def side(self) -> str:
        """Whose columns they are: ``"y"`` or ``"x"``."""

    @property
    def is_discrete(self) -> bool:
        """Whether there is no density."""

    @property
    def is_proper(self) -> bool:
        """Whether no weight can be negative."""

    @property
    def n_points(self) -> int:
        """The number of support points."""

    @property
    def table(self) -> ProbabilityTable | None:
        """The probabilities of the distinct values; None unless these are few."""

    @property
    def normalised(self) -> Self:
        """The same distributions, divided by their mass."""

    def take(self, rows: Any) -> Self:
        """Return the chosen distributions."""

    def reweighted(
        self, how: "Callable[[LinearDistributions], LinearDistributions]"
    ) -> "Distributions":
        """Return the same with other weights on support points.

        Parameters
        ----------
        how : callable
            From the distributions on support points to those that take their place.
        """

    def units(self) -> Vector:
        """Return the standard deviations of the columns in the sample, ``(d,)``."""

    def masses(self) -> Vector:
        """Return the sums of the weights before any division, ``(q,)``."""

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, d)`` to ``(b, k)``."""

    def means(self) -> Vector:
        """Return the means, ``(q, d)``."""

    def second_moments(self) -> Vector:
        """Return the means of products of two columns, ``(q, d, d)``."""

    def covariances(self) -> Vector:
        """Return the covariances after division by the mass, ``(q, d, d)``."""

    def variances(self) -> Vector:
        """Return the variances of columns after division by the mass, ``(q, d)``."""

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``."""

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs of one column, each at its own points ``(q, k)``."""

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""

    def draws(self, uniform: Vector) -> Vector:
        """Return draws ``(q, size, d)`` made from uniform numbers ``(q, size)``."""

    def modes(self) -> Vector:
        """Return the most likely points, ``(q, d)``."""

    def points(self) -> Vector:
        """Return the support points, ``(n, d)``, or ``(q, n, d)`` if each has its own."""

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""

    def negative_share(self) -> Vector:
        """Return the negative weight as a share of the sum of absolute weights, ``(q,)``."""

    def negative_ratios(self, below: float) -> Vector:
        """Return the share of the sample whose ratio to the marginal is below a limit."""

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights, ``(q,)``."""

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and those of the marginal distribution.

        Parameters
        ----------
        points : array of shape (q, d)
            The observed outcomes, coded.
        unit : array of shape (d,), optional
            The units of distances along each of several columns.
        """

    def projection(self) -> Projection | None:
        """Return how far projected distributions moved; None if they are not projected."""
