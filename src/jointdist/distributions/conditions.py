r"""The conditions of distributions, and the coefficients that the model gives them.

Of a condition :math:`x` a distribution needs the coefficients :math:`t(x) = \tilde H
\Psi_X(x)` and nothing else. They are computed at the first question and stored, or computed
anew in parts where they would take too much memory. See
:class:`~jointdist.distributions.protocols.Conditions`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Vector, like, to_numpy
from jointdist._cached import Cached, cached
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.data.table import Rows
from jointdist.distributions.protocols import LinearConditions
from jointdist.distributions.seen import About, columns_outside
from jointdist.distributions.support import LEAST_MASS
from jointdist.errors import SignedDistributionWarning, warn_user
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.kernel_range import within
from jointdist.lowrank.novelty import TRUSTED
from jointdist.lowrank.protocols import Features

__all__ = ["Derived", "Fixed", "Queries", "by_parts", "differing_columns", "represented"]

_KEPT = 1 << 25  # coefficients stored: a memory budget of a quarter of a gigabyte
_MOST_LABELS = 3  # columns named in the label of a condition: more do not fit in a legend


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Coefficients that are given.

    Attributes
    ----------
    t : array of shape (q, m)
        The coefficients.
    """

    t: Vector

    @property
    def n(self) -> int:
        """The number of conditions."""
        return len(self.t)

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions at once."""
        yield self.t

    def novelty(self) -> Vector:
        """Return zeros: there is no condition that could be far from the sample."""
        return np.zeros(self.n)

    def leverage(self) -> Vector:
        """Return NaN: there is no condition at which an outcome could be observed."""
        return np.full(self.n, np.nan)

    def outside(self) -> list[tuple[str, ...]]:
        """Return no columns."""
        return [()] * self.n

    def labels(self) -> tuple[str, list[str]]:
        """Return no name of columns, and the number of each distribution."""
        return "", _numbered(self.n)

    def take(self, rows: Any) -> "Fixed":
        """Return the chosen conditions."""
        return Fixed(self.t[rows])


@dataclass(frozen=True, eq=False)
class Queries(Cached):
    """Rows of the conditioning side, with a model that maps them to coefficients.

    Attributes
    ----------
    rows : Rows
        The conditions, coded.
    basis : Basis
        The basis of the side that they are on.
    H : array of shape (m_given, m)
        The coefficients of the model, towards the side of the distributions.
    executor : Executor
        Runs the row blocks.
    encoding : Encoding
        How categories of the conditions became numbers.
    offset : float, default=0.0
        What is added to all coefficients.
    trusted : float, default=0.0
        The share of the kernel at a condition that its features must represent. Below it, the
        coefficients shrink in proportion, before the offset: far out of distribution they
        revert to the marginal. Zero switches this off.
    most : float, default=inf
        The largest kernel of a row of the sample. Longer features are shortened to that
        length, and shrink further where the kernel is far beyond.
    about : About, optional
        What the model has seen of such rows.
    """

    rows: Rows
    basis: Basis
    H: Vector
    executor: Executor
    encoding: Encoding
    offset: float = 0.0
    trusted: float = 0.0
    most: float = np.inf
    about: About | None = None

    @property
    def n(self) -> int:
        """The number of conditions."""
        return self.rows.n

    @cached
    def t(self) -> Vector:
        """The coefficients of all distributions, of shape ``(q, m)``."""
        found = self.executor.map(lambda _start, z: self.block(z), self.rows)
        t, novelty = zip(*found, strict=True)
        vars(self)["known_novelty"] = np.concatenate(novelty)
        return np.concatenate(t)

    def block(self, z: Array) -> tuple[Vector, Vector]:
        """Return the coefficients at a block of rows, and their novelty if it is needed."""
        psi = host_features(self.basis, z)
        t, novelty = self.coefficients(psi, z), np.empty(0)
        if self.trusted:
            trust, novelty = self.trust(psi, z)
            t = np.where(trust[:, None] > 0, t * trust[:, None], 0.0)
        t += self.offset
        return t, novelty

    def trust(self, psi: Array, z: Array) -> tuple[Vector, Vector]:
        """Return what the coefficients at rows are multiplied by, and the novelty of the rows.

        Parameters
        ----------
        psi : Array of shape (b, m_given)
            The functions of the basis there, on any device.
        z : Array of shape (b, d)
            The rows.
        """
        represented, reach = self._represented(psi, z)
        trust = np.sqrt(reach * np.minimum(reach / TRUSTED, 1.0))
        trust *= np.minimum(represented / self.trusted, 1.0)
        return trust, 1 - reach * represented

    def coefficients(self, psi: Vector, z: Array) -> Vector:
        """Return the coefficients at rows, wherever these are.

        Parameters
        ----------
        psi : array of shape (b, m_given)
            The functions of the basis there.
        z : Array of shape (b, d)
            The rows.
        """
        del z
        t: Vector = psi @ self.H
        return t

    def novelty(self) -> Vector:
        """Return how far out of distribution each condition is, from zero to one."""
        if self.trusted and self.n <= self._step:
            _ = self.t  # which comes with it
            found: Vector = vars(self)["known_novelty"]
            return found

        def block(_start: int, z: Array) -> Vector:
            represented, reach = self._represented(host_features(self.basis, z), z)
            return 1 - reach * represented

        return np.concatenate(list(self.executor.map(block, self.rows)))

    def _represented(self, psi: Array, z: Array) -> tuple[Vector, Vector]:
        """Return the share of the kernel that features represent, and their reach."""
        mean = to_numpy(self.basis.mean) @ to_numpy(self.basis.rotation)
        phi = psi + like(mean, psi)  # rotated
        return represented(self.basis.map, phi, z, self.most)

    def leverage(self) -> Vector:
        """Return the weight of an outcome at each condition in the forecast there."""
        if self.about is None:
            return np.full(self.n, np.nan)
        inverse = self.about.inverse

        def block(_start: int, z: Array) -> Vector:
            found: Vector = host_features(self.basis, z) ** 2 @ inverse
            return found

        return self.about.own + np.concatenate(list(self.executor.map(block, self.rows)))

    def outside(self) -> list[tuple[str, ...]]:
        """Return the columns of each condition that are outside the range seen."""
        return columns_outside(self.rows, self.encoding, self.about)

    def labels(self) -> tuple[str, list[str]]:
        """Return the names of the columns that tell conditions apart, and their values."""
        return differing_columns(self.rows, self.encoding)

    @property
    def width(self) -> int:
        """The number of coefficients of a distribution."""
        return int(self.H.shape[1])

    @property
    def _step(self) -> int:
        """The number of conditions whose coefficients fit in memory."""
        return max(_KEPT // max(self.width, 1), 1)

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions, as many at a time as fit in memory."""
        step = self._step
        if self.n <= step:
            yield self.t
            return
        for start in range(0, self.n, step):
            yield self.take(np.arange(start, min(start + step, self.n))).t

    def take(self, rows: Any) -> Self:
        """Return the chosen conditions."""
        chosen = replace(self, rows=self.rows.subset(np.arange(self.n)[rows]))
        if "t" in vars(self):
            vars(chosen)["t"] = self.t[rows]
            if self.trusted:
                vars(chosen)["known_novelty"] = vars(self)["known_novelty"][rows]
        return chosen


def represented(
    features: Features, phi: Array, z: Array, most: float
) -> tuple[Vector, Vector]:
    """Return the share of the kernel at points that features represent, and their reach.

    Parameters
    ----------
    features : Features
        The features.
    phi : Array of shape (q, m)
        Their values at the points, in any rotation.
    z : Array of shape (q, d)
        The points.
    most : float
        The largest kernel of a row of the sample.
    """
    missed = np.clip(to_numpy(features.novelty(phi, z)), 0.0, 1.0)
    return 1 - np.nan_to_num(missed, nan=1.0), within(features, phi, z, most)


@dataclass(frozen=True, eq=False)
class Derived(ABC):
    """Conditions of distributions that are made of others; coefficients differ.

    Attributes
    ----------
    given : LinearConditions
        The conditions of the others.
    """

    given: LinearConditions

    @abstractmethod
    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions in order, some rows at a time."""

    @abstractmethod
    def take(self, rows: Any) -> Self:
        """Return the chosen conditions."""

    @property
    def n(self) -> int:
        """The number of conditions."""
        return self.given.n

    def novelty(self) -> Vector:
        """Return how far out of distribution each condition is, from zero to one."""
        return self.given.novelty()

    def leverage(self) -> Vector:
        """Return the weight of an outcome at each condition in the forecast there."""
        return self.given.leverage()

    def outside(self) -> list[tuple[str, ...]]:
        """Return the columns of each condition that are outside the range seen."""
        return self.given.outside()

    def labels(self) -> tuple[str, list[str]]:
        """Return the names of the columns that tell conditions apart, and their values."""
        return self.given.labels()


def by_parts(
    conditions: LinearConditions,
    mean: Vector | None,
    f: Callable[[Vector, Vector, slice], NDArray[Any]],
) -> NDArray[Any]:
    """Return the results of ``f(t, mass, which)``, a part of the distributions at a time.

    A distribution without positive mass does not exist: its result is NaN (-1 for integers),
    and a warning is issued.

    Parameters
    ----------
    conditions : LinearConditions
        The conditions of the distributions.
    mean : array of shape (m,), optional
        The means of the functions, which give the masses; without, masses are ones.
    f : callable
        From coefficients ``(b, m)``, masses ``(b,)`` and the slice of distributions that they
        belong to, to results with a first axis of ``b``.
    """
    results, start, none = [], 0, 0
    with one_blas_thread() as one, one:  # several threads may ask at once
        for part in conditions.parts():
            t = part
            mass = np.ones(len(t)) if mean is None else 1 + t @ mean
            bad = ~(mass > LEAST_MASS)
            if bad.any():
                none += int(bad.sum())
                t, mass = np.where(bad[:, None], 0.0, t), np.where(bad, 1.0, mass)
            found = f(t, mass, slice(start, start + len(t)))
            if bad.any():
                found[bad] = np.nan if found.dtype.kind == "f" else -1
            results.append(found)
            start += len(t)
    if none:
        msg = (
            f"Conditional: {none} of {start} conditions have no distribution, as its mass is "
            "not positive; their answers are NaN. Raise `regularization`, or see by "
            "`novelty` whether they are out of distribution."
        )
        warn_user(msg, SignedDistributionWarning)
    return results[0] if len(results) == 1 else np.concatenate(results)


def differing_columns(rows: Rows, encoding: Encoding) -> tuple[str, list[str]]:
    """Return the names of the columns in which conditions differ, and their values.

    Without a name, and with the numbers of the distributions, if they differ in more than
    three.

    Parameters
    ----------
    rows : Rows
        The conditions, coded.
    encoding : Encoding
        How categories of the conditions became numbers.
    """
    z = to_numpy(rows.read(0, rows.n))
    differ = np.flatnonzero((z != z[0]).any(axis=0))
    if not 0 < len(differ) <= _MOST_LABELS:
        return "", _numbered(rows.n)
    titles = encoding.titles(rows.name)
    decoded = encoding.decode(z)[:, differ]
    labels = [", ".join(map(_short, values)) for values in decoded]
    return ", ".join(titles[i] for i in differ), labels


def _numbered(n: int) -> list[str]:
    return [f"distribution {i}" for i in range(n)]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
