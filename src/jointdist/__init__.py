"""Learn the joint distribution of two groups of variables, and ask it anything."""

from jointdist import datasets, kernels
from jointdist.lowrank import LowRank, pivoted_cholesky

__all__ = ["LowRank", "datasets", "kernels", "pivoted_cholesky"]

__version__ = "0.1.0"
