"""The interface of features, which kernels at landmarks and polynomials implement."""

from typing import Protocol

from jointdist._array import Array
from jointdist.kernels import Kernel

__all__ = ["Features"]


class Features(Protocol):
    r"""A map of points to features :math:`\phi(z) = C^{-1} \tau(z)`.

    The functions :math:`\tau` are the kernel at landmarks
    (:class:`~jointdist.lowrank.features.FeatureMap`), or polynomials
    (:class:`~jointdist.lowrank.polynomials.PolynomialMap`). A map is immutable, small, and
    safe to call from several threads. Features are nested: the first ``r`` of them do not
    depend on the others.
    """

    @property
    def kernel(self) -> Kernel:
        """The kernel whose inner products the features reproduce or approximate."""
        ...

    @property
    def core(self) -> Array:
        """The lower-triangular matrix :math:`C`."""
        ...

    @property
    def inverse_core(self) -> Array:
        """The inverse of :math:`C`."""
        ...

    @property
    def rank(self) -> int:
        """The number of features."""
        ...

    @property
    def width(self) -> int:
        """The number of columns of the points."""
        ...

    @property
    def origin(self) -> Array:
        """A point in the middle of the data, of shape ``(d,)``."""
        ...

    @property
    def key(self) -> str:
        """A fingerprint: maps with the same key have the same features."""
        ...

    @property
    def amplification(self) -> float:
        """A bound on the factor by which the solve enlarges rounding errors of the columns."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the features reproduce the kernel exactly, so that no trace is lost."""
        ...

    @property
    def degree(self) -> int | None:
        """The total degree of the features, if they are polynomials; else None."""
        ...

    @property
    def equal_diagonal(self) -> bool:
        """Whether the kernel :math:`k(p, p)` is the same at several landmarks :math:`p`."""
        ...

    def columns(self, Z: Array) -> Array:
        r"""Return :math:`\tau(z_i)` as columns, of shape ``(m, n)``."""
        ...

    def solve(self, columns: Array) -> Array:
        """Return :math:`C^{-1}` times ``columns``."""
        ...

    def features(self, Z: Array) -> Array:
        r"""Return :math:`\phi(z_i)` as rows, of shape ``(n, m)``."""
        ...

    def novelty(self, phi: Array, Z: Array) -> Array:
        """Return how far out of distribution points are, from zero to one.

        Parameters
        ----------
        phi : Array of shape (n, m)
            Their features, in any rotation.
        Z : Array of shape (n, d)
            The points.
        """
        ...
