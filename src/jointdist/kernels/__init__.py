"""Covariance functions (kernels) and their default length scales."""

from jointdist.kernels.combined import Columns, Kernel, Product, Sum
from jointdist.kernels.covariance import (
    Delta,
    Gaussian,
    Hamming,
    Laplace,
    Matern,
    Polynomial,
)

__all__ = [
    "Columns",
    "Delta",
    "Gaussian",
    "Hamming",
    "Kernel",
    "Laplace",
    "Matern",
    "Polynomial",
    "Product",
    "Sum",
]
