"""The low-rank engine, compared with the machine and with other packages in one run.

Run ``make bench``. Workload W: X and Y standard normal, d = 3 + 3, Gaussian kernels of length
scale 1.5, relative trace error 1e-3, float64. The floor is the time of the matrix products of
all moments at the rate of a large matrix product, measured in the same run.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from measure import console, gemm_rate, heading, peak_memory, seconds, table

from jointdist import pivoted_cholesky
from jointdist.kernels import Delta, Gaussian
from jointdist.lowrank.reduction import reduce_sample

SCALE, TOL, SEED = 1.5, 1e-3, 0
KERNEL = Gaussian(SCALE)


def floor(n: int, m_x: int, m_y: int, rate: float) -> float:
    """Return the seconds that the Gram and cross-Gram matrices alone would take."""
    return n * (2 * m_x**2 + 2 * m_y**2 + 2 * m_x * m_y) / rate


def rate_drift(rate: float) -> str:
    """Return how the speed of the machine changed during the benchmark."""
    return f"GEMM rate again at the end: {gemm_rate() / rate:.2f} of that at the start."


def work(n: int, rate: float, X, Y, repeat: int) -> tuple[float, object]:
    """Reduce a sample of n rows and print time and memory."""

    def run():
        return reduce_sample(KERNEL, KERNEL, X, Y, tol=TOL, random_state=SEED)

    with peak_memory() as peak:  # first, before other runs leave memory behind
        run()
    time, small = seconds(run, repeat)  # separately, because watching memory takes time
    m_x, m_y = small.x.rank, small.y.rank
    rows = table(
        f"W, n = {n:,}: pivots and all moments of both sides",
        "ranks",
        "trace errors",
        "time",
        "× floor",
        "× floor at rank 210",
        "memory",
        left=0,
    )
    rows.add_row(
        f"{m_x}, {m_y}",
        f"{small.x.relative_error:.2e}, {small.y.relative_error:.2e}",
        f"{time:.2f} s",
        f"{time / floor(n, m_x, m_y, rate):.2f}",
        f"{time / floor(n, 210, 210, rate):.2f}",
        f"{peak[0] / 1e6:,.0f} MB",
    )
    console.print(rows)
    return time, small


def peers(X) -> None:
    """Compare one side with the authors' pivoted Cholesky and with scikit-learn's Nyström."""
    n = len(X)
    ours, low = seconds(lambda: pivoted_cholesky(KERNEL, X, tol=TOL, random_state=SEED))
    zeros = np.zeros(n)
    with_gram, _ = seconds(
        lambda: reduce_sample(KERNEL, Delta(), X, zeros, tol=TOL, random_state=SEED)
    )
    rows = table(
        f"One side, n = {n:,}", "method", "rank", "trace error", "time", "ours is faster by"
    )
    error = f"{low.relative_error:.3e}"
    rows.add_row(
        "jointdist, pivots and exact error", f"{low.rank}", error, f"{ours:.2f} s", ""
    )
    rows.add_row(
        "jointdist, pivots and Gram", f"{low.rank}", error, f"{with_gram:.2f} s", ""
    )
    for name, compared, peer in (
        ("fmca.PivotedCholesky (greedy)", ours, lambda: fmca(X, low.relative_error)),
        ("sklearn Nystroem and Gram", with_gram, lambda: nystroem(X, low.rank)),
    ):
        try:
            time, (rank, left) = seconds(peer, 1)
        except ImportError as missing:
            rows.add_row(name, "", "", f"not run: {missing}", "")
            continue
        rows.add_row(
            name, f"{rank}", f"{left:.3e}", f"{time:.2f} s", f"{time / compared:.1f} ×"
        )
    console.print(rows)


def fmca(X, tol: float) -> tuple[int, float]:
    """Run the authors' compiled code, after a check of its length-scale convention."""
    from FMCA import CovarianceKernel, PivotedCholesky  # noqa: PLC0415

    kernel = CovarianceKernel("GAUSSIAN", SCALE)
    one = kernel.eval(np.zeros((3, 1)), np.array([[1.0], [0.0], [0.0]]))[0, 0]
    assert np.isclose(one, KERNEL(np.zeros((1, 1)), np.ones((1, 1)))[0, 0])  # noqa: S101
    L = PivotedCholesky(kernel, np.asfortranarray(X.T), tol).matrixL()
    return L.shape[1], 1 - np.einsum("ij,ij->", L, L) / len(X)


def nystroem(X, rank: int) -> tuple[int, float]:
    """Run scikit-learn's Nyström features and their Gram matrix."""
    from sklearn.kernel_approximation import Nystroem  # noqa: PLC0415

    features = Nystroem(gamma=0.5 / SCALE**2, n_components=rank, random_state=SEED)
    F = features.fit_transform(X)
    return rank, 1 - np.trace(F.T @ F) / len(X)


def memory_mapped(folder: str, name: str, n: int):
    """Write n standard normal rows to a file in pieces, and map it into memory."""
    path = Path(folder) / name
    rng = np.random.default_rng(len(name))
    rows = np.lib.format.open_memmap(path, "w+", np.float64, (n, 3))
    for start in range(0, n, 1 << 18):
        stop = min(start + (1 << 18), n)
        rows[start:stop] = rng.standard_normal((stop - start, 3))
    rows.flush()
    del rows
    return np.load(path, mmap_mode="r")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--many-rows", type=int, default=10**7)
    options = parser.parse_args()
    rate = gemm_rate()
    heading(f"; GEMM {rate / 1e9:.0f} GF/s")
    rng = np.random.default_rng(SEED)
    X, Y = rng.standard_normal((2, options.rows, 3))
    reduce_sample(KERNEL, KERNEL, X[:1000], Y[:1000], random_state=SEED)  # warm up
    time, _ = work(options.rows, rate, X, Y, repeat=5)
    peers(X)
    del X, Y
    with tempfile.TemporaryDirectory() as folder:
        X, Y = (
            memory_mapped(folder, name, options.many_rows) for name in ("x.npy", "yy.npy")
        )
        longer, _ = work(options.many_rows, rate, X, Y, repeat=1)
        console.print(
            f"{options.many_rows:,} memory-mapped rows take {longer / time:.1f} × the time of "
            f"{options.rows:,} in memory."
        )
    console.print(rate_drift(rate))


if __name__ == "__main__":
    main()
