"""Covariance functions (kernels) and their default length scales."""

from jointdist.kernels.covariance import (
    Columns,
    Delta,
    Gaussian,
    Kernel,
    Laplace,
    Matern,
    Polynomial,
    Product,
    Sum,
)

__all__ = [
    "Columns",
    "Delta",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Matern",
    "Polynomial",
    "Product",
    "Sum",
]
