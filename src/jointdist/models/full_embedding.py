r"""The full conditional mean embedding: weights on all rows, by the whole kernel matrix."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky

from jointdist._array import Vector, like, to_numpy
from jointdist._rules import Text, require
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.kernels import Delta, Kernel
from jointdist.lowrank.basis import Basis, host_features, side_basis
from jointdist.lowrank.features import FeatureMap, kernel_matrix
from jointdist.lowrank.reduction import Factoring
from jointdist.models.embedding import Embedding, SolvedEmbedding, fit_embedding
from jointdist.models.fold_calibration import Judges
from jointdist.models.kept_sample import KeptSample
from jointdist.models.pivot_support import plain_basis
from jointdist.programs import Solution

__all__ = ["full_embedding"]

_MOST_ROWS = 5_000  # whose kernel matrix takes 200 MB
_FEATURES = 64  # of Y, whose means projections match: more than they ever use
_JITTER = 1e-13  # of the trace, that makes a kernel matrix definite


def full_embedding(
    kept: KeptSample,
    kernels: tuple[Kernel, Kernel],
    ridge: float,
    positivity: str,
    *,
    executor: Executor,
    judges: Judges | None = None,
) -> Embedding:
    """Return the embedding by the inverse of the kernel matrix of all rows, weighted.

    Parameters
    ----------
    kept : KeptSample
        The rows of the fit, all of positive weight.
    kernels : tuple of Kernel
        The kernels of X and Y.
    ridge : float
        The ridge.
    positivity : str
        Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
    executor : Executor
        Runs the row blocks.
    judges : Judges, optional
        What projections are calibrated by, where rows depend on each other.
    """
    sample, (kernel_x, kernel_y) = kept.all_rows, kernels
    rule, got = f"at most {_MOST_ROWS:,} rows without `low_rank`", Text(f"{sample.n:,}")
    require(sample.n <= _MOST_ROWS, sample.x.where, "X", rule, got)
    rows, z = sample.x.read(0, sample.n), sample.y.read(0, sample.n)
    w = np.ones(sample.n) if sample.weights is None else sample.weights
    n = float(w.sum())
    K = to_numpy(kernel_matrix(kernel_x, rows, rows))
    F = _inverse(K, np.minimum(n * ridge / w, 1e300))
    C = _root(K)
    weights = F @ C
    K_y = to_numpy(kernel_matrix(kernel_y, z, z))
    solution = Solution(F, -float(w @ np.einsum("ij,ji->i", K_y @ F, K)) / n)
    projected = positivity == "projected"
    basis_y = _features_of_y(sample, kernel_y if projected else None, kept.seed)
    basis_x = plain_basis(FeatureMap(kernel_x, rows, like(C, rows)))
    solved = SolvedEmbedding(
        solution=solution,
        bases=(basis_x, basis_y),
        points=z,
        weights=weights,
        ridge=ridge,
        mean=w @ host_features(basis_y, z) / n,
        in_full=True,
    )
    return fit_embedding(kept, solved, positivity, executor, judges)


def _features_of_y(sample: Sample, kernel: Kernel | None, seed: int) -> Basis:
    """Return a basis of Y for projections; without functions if there are none."""
    rows, w = sample.y, sample.weights
    if kernel is None:
        place = rows.read(0, 1)
        return plain_basis(FeatureMap(Delta(), place[:0, :], like(np.empty((0, 0)), place)))
    low = Factoring(0.0, _FEATURES, "greedy", seed).factored("kernel_y", kernel, rows, w)
    phi = low.map.features(rows.read(0, rows.n))
    weighted = phi if w is None else phi * like(w, phi)[:, None]
    sums = like(to_numpy(weighted).sum(axis=0), phi)
    return side_basis(low, sample.size, sums, phi.T @ weighted, centred=False)


def _inverse(K: Vector, ridge: Vector) -> Vector:
    """Return the inverse of the kernel matrix plus a diagonal."""
    whole = K.copy()
    whole[np.diag_indices_from(K)] += ridge
    try:
        inverse = cho_solve(cho_factor(whole), np.eye(len(K)))
    except LinAlgError:
        got = Text("one that rounding of the kernel matrix exceeds")
        rule = "so large that the kernel matrix can be inverted with it"
        require(False, "ConditionalMeanEmbedding", "regularization", rule, got)
        raise
    return np.asarray(inverse)


def _root(K: Vector) -> Vector:
    """Return the Cholesky factor of a kernel matrix, made definite."""
    jitter = _JITTER * max(float(np.trace(K)), np.finfo(float).tiny)
    while True:
        try:
            return np.asarray(cholesky(K + jitter * np.eye(len(K)), lower=True))
        except LinAlgError:
            jitter *= 10
