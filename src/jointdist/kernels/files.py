"""The kernels that a file can hold: all that ship with the package, and their combinations."""

from jointdist._rules import Text, require
from jointdist.data.codec import Either, Number, Scalars, Schema, Sequence, Value, Whole
from jointdist.kernels.combined import Columns, Product, Sum
from jointdist.kernels.covariance import (
    Delta,
    Gaussian,
    Hamming,
    Laplace,
    Matern,
    Polynomial,
)

__all__ = ["KERNELS", "kernel_field", "register_kernels"]

# Kernels inside a kernel: ten times as many as a table of a thousand categorical columns has.
_MOST = 10_000

KERNELS = (Gaussian, Laplace, Matern, Delta, Hamming, Polynomial, Sum, Product, Columns)


def kernel_field() -> Value:
    """Return the field that holds a kernel of the package, or a combination of them.

    Examples
    --------
    >>> from jointdist.data.codec import Schema
    >>> from jointdist.kernels import Delta, Gaussian, Product
    >>> from jointdist.kernels.files import register_kernels
    >>> schema = Schema()
    >>> register_kernels(schema)
    >>> header, arrays = schema.encode(Gaussian(2.0).on(0, 1) * Delta().on(2))
    >>> schema.decode(header, arrays, Product)
    Product(Gaussian(scale=2.0).on(0, 1), Delta(similarity=0.0).on(2))
    """
    return Value(*KERNELS, what="a kernel of jointdist")


def register_kernels(schema: Schema) -> None:
    """Register all kernels of the package; those that users write cannot be saved.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    scale = Either(Number(above=0), Scalars(float))
    kernel = kernel_field()
    schema.register(Gaussian, "gaussian", scale=scale)
    schema.register(Laplace, "laplace", scale=scale)
    schema.register(Matern, "matern", scale=scale, nu=Number(least=0.5, most=2.5))
    schema.register(Hamming, "hamming", scale=scale)
    schema.register(Delta, "delta", similarity=Number(least=0, most=1))
    schema.register(
        Polynomial,
        "polynomial",
        degree=Whole(least=1),
        offset=Number(least=0),
        scale=scale,
    )
    parts = Sequence(kernel)
    schema.register(
        Sum, "sum", build=lambda kernels: Sum(*kernels), check=_count, kernels=parts
    )
    schema.register(
        Product,
        "product",
        build=lambda kernels: Product(*kernels),
        check=_count,
        kernels=parts,
    )
    schema.register(Columns, "columns", kernel=kernel, columns=Scalars(int))


def _count(kernel: object) -> int:
    """Return the number of kernels in a kernel; raise if there are very many.

    A short file can name a sum of sums of the same sums, which would take forever to compute.
    """
    if isinstance(kernel, Columns):
        return 1 + _count(kernel.kernel)
    found = 1
    for part in getattr(kernel, "kernels", ()):
        found += _count(part)
        require(found <= _MOST, "Kernel", "kernels", f"at most {_MOST:,}", Text("more"))
    return found
