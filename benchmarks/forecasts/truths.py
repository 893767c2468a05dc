"""Simulated outcomes of one column X, whose distributions are known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import beta, ndtr
from scipy.stats import t as student

__all__ = [
    "CAP",
    "FAMILIES",
    "Family",
    "bimodal",
    "capped",
    "chance_of_zero",
    "outlier",
    "zero_inflated",
]

Vector: TypeAlias = np.ndarray

WIDE = 2.0  # x is uniform between minus this and this
ODDS = 1.05  # of zeros, as a logarithm: probabilities from .26 to .74
CAP = 0.5
GROSS = 1e6  # the error of one outcome


@dataclass(frozen=True)
class Family:
    """Location plus scale times noise of a known distribution, perhaps exponentiated.

    Attributes
    ----------
    location, scale : callable
        From x to the location and the scale.
    noise : {"normal", "t2", "uniform"}
        The noise: standard normal, Student's t with two degrees of freedom, or uniform
        between 0 and 1.
    log : bool
        Whether this is the logarithm of the outcome.
    """

    location: Callable[[Vector], Vector]
    scale: Callable[[Vector], Vector]
    noise: str = "normal"
    log: bool = False

    def drawn(self, n: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
        """Return n values of x, and an outcome for each."""
        x = rng.uniform(-WIDE, WIDE, n)
        z = {
            "normal": rng.standard_normal,
            "t2": lambda n: rng.standard_t(2, n),
            "uniform": rng.random,
        }[self.noise](n)
        y = self.location(x) + self.scale(x) * z
        return x, np.exp(y) if self.log else y

    def crps(self, x: Vector, y: Vector) -> Vector:
        """Return the CRPS of the true distributions at outcomes."""
        m, s = self.location(x), self.scale(x)
        if self.log:
            return _lognormal(m, s, y)
        z = (y - m) / s
        return s * {"normal": _normal, "t2": _student, "uniform": _uniform}[self.noise](z)


def _normal(z: Vector) -> Vector:
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi)


def _uniform(z: Vector) -> Vector:
    inside = np.clip(z, 0, 1)
    return np.abs(z - inside) + inside**2 - inside + 1 / 3


def _student(z: Vector, df: float = 2.0) -> Vector:
    spread = 2 * np.sqrt(df) / (df - 1) * beta(0.5, df - 0.5) / beta(0.5, df / 2) ** 2
    near = z * (2 * student.cdf(z, df) - 1)
    return near + 2 * student.pdf(z, df) * (df + z**2) / (df - 1) - spread


def _lognormal(m: Vector, s: Vector, y: Vector) -> Vector:
    z = (np.log(y) - m) / s
    tail = ndtr(z - s) + ndtr(s / np.sqrt(2)) - 1
    return y * (2 * ndtr(z) - 1) - 2 * np.exp(m + s**2 / 2) * tail


def _flat(value: float) -> Callable[[Vector], Vector]:
    return lambda x: np.full(len(x), value)


FAMILIES = {
    "heteroscedastic": Family(lambda x: np.sin(2 * x), lambda x: 0.1 + 0.2 * x**2),
    "lognormal": Family(lambda x: np.sin(2 * x), _flat(0.5), log=True),
    "t2": Family(lambda x: np.sin(2 * x), _flat(0.3), "t2"),
    "moving edges": Family(lambda x: np.sin(2 * x), lambda x: 0.5 + np.abs(x), "uniform"),
    "step": Family(lambda x: 2.0 * (x > 0), _flat(0.3)),
    "periodic": Family(lambda x: np.sin(2 * np.pi * x), _flat(0.3)),
}


def bimodal(n: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return outcomes with two modes, the farther apart the larger x between 0 and 1 is."""
    x = rng.random(n)
    side = rng.choice([-1.0, 1.0], n)
    return x, 2 * x * side + 0.3 * rng.standard_normal(n)


def outlier(n: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return a sine wave with heteroscedastic noise; one of the outcomes has a gross error."""
    x, y = FAMILIES["heteroscedastic"].drawn(n, rng)
    y[rng.integers(n)] += GROSS
    return x, y


def zero_inflated(n: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return zeros with a probability that depends on x, and gamma variables otherwise."""
    x = rng.uniform(-1, 1, n)
    y = rng.gamma(2.0, np.exp(x / 2))
    y[rng.random(n) < chance_of_zero(x)] = 0.0
    return x, y


def chance_of_zero(x: Vector) -> Vector:
    """Return the probability of zero of ``zero_inflated``."""
    return 1 / (1 + np.exp(ODDS * x))


def capped(n: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return a line with normal noise, where larger outcomes are replaced by a cap."""
    x = rng.uniform(-1, 1, n)
    return x, np.minimum(x + 0.5 * rng.standard_normal(n), CAP)
