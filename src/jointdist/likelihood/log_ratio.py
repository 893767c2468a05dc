r"""The log-linear ratio of a joint distribution to its marginals, on cells of outcomes.

.. math:: p(k \mid x) = \tau p_k \exp(\tau (u_k^\top \theta(x) + \beta_k) - a(x)) + (1 - \tau) p_k,

with the tilts :math:`\theta(x) = W \Psi_X(x)`, which are sums of kernels at landmarks. The trust
:math:`\tau(x)` is one near the sample and falls to zero out of distribution. There the log-ratio
is faded. That of a narrow distribution is so large that it would still be a spike, so that the
marginal takes its weight, too. It is positive and has mass one for every x.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Matrix, Vector, array_namespace, like, to_numpy
from jointdist._cached import Cached, cached
from jointdist.distributions.conditions import Queries, represented
from jointdist.kernels import Kernel
from jointdist.likelihood.outcome_cells import Locator
from jointdist.lowrank.basis import near_basis
from jointdist.lowrank.features import kernel_matrix
from jointdist.lowrank.protocols import Features

__all__ = ["CellQueries", "LogRatio", "TiltQueries"]


@dataclass(frozen=True, eq=False)
class LogRatio(Cached):
    r"""A fitted log-linear ratio: a small value.

    Attributes
    ----------
    kernel : Kernel
        The kernel of X.
    landmarks : array of shape (m, d)
        The landmarks of X.
    slopes : array of shape (m, r)
        The coefficients of the kernels at the landmarks in the tilts.
    shift : array of shape (r,)
        The constants in the tilts.
    functions : array of shape (K, r)
        The functions :math:`u_k` of Y at the cells.
    intercept : array of shape (K,)
        The intercepts :math:`\beta_k` of the cells.
    shares : array of shape (K,)
        The shares :math:`p_k` of the cells.
    """

    kernel: Kernel
    landmarks: Matrix
    slopes: Matrix
    shift: Vector
    functions: Matrix
    intercept: Vector
    shares: Vector

    def tilts(self, z: Array) -> Array:
        r"""Return :math:`\theta(x)` at rows of X, ``(b, r)``, on their device.

        Parameters
        ----------
        z : Array of shape (b, d)
            The rows, on any device.
        """
        if not len(self.landmarks):
            return like(np.tile(self.shift, (z.shape[0], 1)), z)
        K = kernel_matrix(self.kernel, z, like(self.landmarks, z))
        return K @ like(self.slopes, K) + like(self.shift, K)

    def probabilities(self, t: Matrix) -> Matrix:
        """Return the probabilities of the cells, ``(q, K)``.

        Parameters
        ----------
        t : array of shape (q, r + 1)
            Trust times tilts, and the trust.
        """
        logs = t @ self._columns
        logs += self._logs
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=logs)
        trust = t[:, -1:]
        logs *= trust / logs.sum(axis=1, keepdims=True)
        logs += (1 - trust) * self.shares
        return logs

    def weights(self, z: Array) -> Matrix:
        """Return the probabilities of the cells at rows of X that are trusted, ``(b, K)``.

        Parameters
        ----------
        z : Array of shape (b, d)
            The rows, encoded.
        """
        t = to_numpy(self.tilts(z))
        return self.probabilities(np.insert(t, t.shape[1], 1.0, axis=1))

    def ratios(self, t: Matrix) -> Matrix:
        """Return the probabilities of the cells over their shares, ``(q, K)``."""
        found = self.probabilities(t)
        found /= self.shares
        return found

    @cached
    def _columns(self) -> Matrix:
        """The functions and the intercepts as rows, ``(r + 1, K)``."""
        return np.concatenate([self.functions.T, self.intercept[None, :]])

    @cached
    def _logs(self) -> Vector:
        """The logarithms of the shares."""
        return np.log(self.shares)


@dataclass(frozen=True, eq=False, kw_only=True)
class TiltQueries(Queries):
    """Rows of X as conditions, whose coefficients are trust times tilts, and the trust.

    Attributes
    ----------
    log_ratio : LogRatio
        The model.
    nearby : Features
        The features by which novelty is measured. They may be finer than those of the basis,
        which represent moments: rows in the tails are far from the landmarks of these.
    surest : float, default=1
        The largest trust.
    """

    log_ratio: LogRatio
    nearby: Features
    surest: float = 1.0

    @property
    def width(self) -> int:
        """The number of coefficients of a distribution."""
        return 1 + len(self.log_ratio.shift)

    def block(self, z: Array) -> tuple[Vector, Vector]:
        """Return trust times tilts, and the trust, at a block of rows, and their novelty."""
        t, trust, novelty = self.near(z)
        return to_numpy(array_namespace(t).concat([t, trust[:, None]], axis=1)), novelty

    def near(self, z: Array) -> tuple[Array, Array, Vector]:
        """Return trust times tilts, and the trust, where the basis is, and the novelty.

        Parameters
        ----------
        z : Array of shape (b, d)
            The rows, on any device.
        """
        z = near_basis(self.basis, z)
        found, novelty = np.ones(z.shape[0]), np.empty(0)
        if self.trusted:
            found, novelty = self.trust(z, z)
        found *= self.surest
        t = self.log_ratio.tilts(z)
        trust = like(found, t)[:, None]
        t = array_namespace(t).where(trust > 0, t * trust, 0.0)  # far away not finite
        return t, trust[:, 0], novelty

    def _represented(self, psi: Array, z: Array) -> tuple[Vector, Vector]:
        """Return the share of the kernel that features nearby represent, and their reach."""
        del psi
        return represented(self.nearby, self.nearby.features(z), z, self.most)


@dataclass(frozen=True, eq=False, kw_only=True)
class CellQueries(Queries):
    """Rows of Y as conditions, whose coefficients tell their cells.

    Attributes
    ----------
    locator : Locator
        Tells the cell of a row.
    count : int
        The number of cells.
    """

    locator: Locator
    count: int

    @property
    def width(self) -> int:
        """The number of coefficients of a distribution."""
        return self.count

    def coefficients(self, psi: Vector, z: Array) -> Vector:
        """Return one in the column of the cell of each row of Y, else zero, ``(b, K)``."""
        del psi
        found = np.zeros((z.shape[0], self.width))
        found[np.arange(len(found)), self.locator.locate(z)] = 1.0
        return found
