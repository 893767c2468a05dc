r"""The likelihood of outcomes: how probable a model finds them at each support point of X.

It is the predictive density :math:`p(y | x_i)` of continuous outcomes, and the probability of
discrete ones, as a ratio to the average over the support points. So the weight of a support point
given the outcome is its share times the ratio: Bayes' rule.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._cached import Cached, cached
from jointdist._rules import Text, require
from jointdist.distributions.protocols import Distributions

__all__ = ["OutcomeLikelihood"]

# An outcome is trusted up to the density of a normal distribution, with the standard deviations
# of the sample, so many of these from its mean. New outcomes of heavy tails are, as each residual
# seen has a density about 1 / n; those some six bandwidths beyond all of them are not.
_FARTHEST = 7.0


@dataclass(frozen=True, eq=False)
class OutcomeLikelihood(Cached):
    """The likelihood of outcomes at weighted rows of X.

    Attributes
    ----------
    dists : Distributions
        The distributions of Y given each row.
    shares : array of shape (n,)
        The weights of the rows, positive and of sum one.
    where : str
        The method, for messages.
    """

    dists: Distributions
    shares: Vector
    where: str

    @property
    def is_discrete(self) -> bool:
        """Whether it is that of probabilities of few values."""
        return self.dists.table is not None

    def logs(self, y: Vector) -> Matrix:
        """Return the logarithms of densities or probabilities, ``(n, q)``.

        Parameters
        ----------
        y : array of shape (q, d)
            The outcomes, coded.
        """
        table = self.dists.table
        if table is None:
            with np.errstate(over="ignore"):  # of outcomes beyond all numbers of the sample
                return self.dists.normalised.density(y, paired=False, log=True)
        place = {tuple(point): i for i, point in enumerate(table.points.tolist())}
        at = np.array([place.get(tuple(point), -1) for point in y.tolist()], dtype=np.intp)
        p = np.where(at >= 0, self._probabilities[:, at], 0.0)
        with np.errstate(divide="ignore"):
            return np.log(p)

    def ratios(self, y: Vector) -> tuple[Matrix, Vector]:
        """Return logarithms of ratios to the average over the rows, and the trust in them.

        An outcome far from all forecasts has a density that says which of them has the widest
        tail, and nothing else: the less it is trusted, the more of the marginal of X should be
        mixed in. Ratios are one where there is no trust.

        Parameters
        ----------
        y : array of shape (q, d)
            The outcomes, coded.
        """
        logs = self.logs(y)
        logs = np.where(np.isnan(logs), -np.inf, logs)  # of rows without a distribution
        top = logs.max(axis=0)
        known = np.isfinite(top)
        logs = np.where(known, logs, 0.0) - np.where(known, top, 0.0)
        with np.errstate(divide="ignore"):  # of a density that is nowhere positive
            mean = np.log(self.shares @ np.exp(logs))
            trust = np.exp(
                np.minimum(np.where(known, mean + top, -np.inf) - self._least, 0)
            )
        return logs - mean, trust

    @property
    def _least(self) -> float:
        """The logarithm of the density from which on outcomes are trusted."""
        if self.dists.table is not None:
            return -np.inf
        unit = self.dists.units()
        return float(-np.log(np.sqrt(2 * np.pi) * unit).sum() - _FARTHEST**2 / 2)

    @cached
    def _probabilities(self) -> Matrix:
        """The probabilities of the values of a discrete variable at each row."""
        table = self.dists.table
        assert table is not None  # noqa: S101  # for type checkers
        return np.maximum(table.probabilities(), 0.0)

    def require_density(self) -> None:
        """Raise if outcomes have neither densities nor probabilities."""
        none = self.dists.table is None and self.dists.is_discrete
        rule = "of a variable that has a density, or few values"
        got = Text("one with a constant column, or too many combinations of categories")
        require(not none, self.where, "y", rule, got)
