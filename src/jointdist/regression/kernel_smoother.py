r"""Fitted kernel regressions as small values: landmarks, and coefficients of the kernel there.

However a regression in the span of :math:`k(\cdot, p_j)` was found, it is

.. math:: f(x) = c + \sum_j k(x, p_j) B_j,

so that of a fit of n rows only the landmarks :math:`p_j`, their coefficients :math:`B_j` and a
constant are kept. The sum rounds by about the machine precision times :math:`|B|`, as much as
the features that it replaces and usually less.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Vector, is_numpy_array, like, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.lowrank.features import kernel_matrix

__all__ = ["KernelSmoother"]


@dataclass(frozen=True, eq=False, repr=False)
class KernelSmoother:
    """Functions that are sums of a kernel at landmarks, one for each target.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    landmarks : Array of shape (m, d)
        The landmarks.
    coefficients : Array of shape (m, r)
        The coefficients of the kernel at the landmarks, for each target.
    constant : array of shape (r,)
        What is added, for each target.
    """

    kernel: Kernel
    landmarks: Array
    coefficients: Array
    constant: Vector

    def __repr__(self) -> str:
        return f"KernelSmoother({self.kernel!r}, {self.rank} landmarks)"

    @property
    def rank(self) -> int:
        """The number of landmarks."""
        return int(self.landmarks.shape[0])

    def predict(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the functions at rows, ``(q, r)``, in host memory wherever the rows are.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            Runs the row blocks.

        Examples
        --------
        >>> import numpy as np
        >>> from jointdist.data.table import Rows
        >>> from jointdist.kernels import Gaussian
        >>> from jointdist.regression.kernel_smoother import KernelSmoother
        >>> bump = KernelSmoother(Gaussian(), np.zeros((1, 1)), 3 * np.eye(1), np.ones(1))
        >>> bump.predict(Rows(np.array([[0.0], [9.0]]), "", "")).round(2)
        array([[4.],
               [1.]])
        """

        def block(_start: int, z: Array) -> Vector:
            if self.rank == 0:
                return np.repeat(self.constant[None], z.shape[0], axis=0)
            if is_numpy_array(self.landmarks) or is_numpy_array(z):
                z = like(to_numpy(z), self.landmarks)
            K = kernel_matrix(self.kernel, self.landmarks, z)
            found: Vector = self.constant + to_numpy(K.T @ self.coefficients)
            return found

        return np.concatenate(list(executor_for(x, executor).map(block, x)))
