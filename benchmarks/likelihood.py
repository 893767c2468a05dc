"""Maximum likelihood of a log-linear ratio: evaluations, their speed, and a million rows.

``python benchmarks/likelihood.py`` runs all sections; ``program``, ``scale``, ``defaults`` or
``ranking`` runs one.

*Program*: 8,000 rows of nine dependent columns, a Gaussian kernel of rank 2,500, an outcome that
is a nonlinear function plus noise, in 100 cells with 24 functions. The gap is the share of
J(0) - J* that is missing, J* that of a run to rounding. The *noise* of the outcome is as large
as the signal, as in most tables, or a fifth of it, which makes distributions narrow. *Protein* is
8,000 rows of the UCI set, from a folder ``shared`` beside the checkout, or the folder that the
environment variable ``JOINTDIST_SHARED`` names; without it, it is left out.

*Scale*: a million rows, d = 3 + 1, against the closed-form fit of the whole model: the program in
the same bases, without the intercepts at the end, and the estimator.

*Defaults*: fits in which nothing is given, d = 8 + 1, second of two.

*Ranking*: whether coarse fits rank kernels as fits to all rows do. Each kernel of X that a
selection tried is given to a model that selects the rest, and its CRPS of 4,000 new rows is
compared with the score of the coarse fit: their rank correlation, and by how much the CRPS of
the kernel that was chosen is above the least.
"""

import os
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from measure import console, heading, peak_memory, seconds, table
from scipy.stats import spearmanr

import jointdist as jd
from jointdist.data.executor import Executor
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian, Kernel
from jointdist.lowrank.basis import double_orthogonal, host_features
from jointdist.lowrank.reduction import reduce_sample
from jointdist.programs import Blocks, LogRatioProblem, maximum_likelihood

SECTIONS = ["program", "scale", "defaults", "ranking"]
CELLS, FUNCTIONS, RANK = 100, 24, 2500
SHARED = Path(os.environ.get("JOINTDIST_SHARED") or Path(__file__).parents[2] / "shared")
PROTEIN = SHARED / "data" / "uci" / "protein-tertiary-structure" / "data.txt.gz"
KERNELS = Gaussian(1.5), Gaussian(0.5)  # of the section scale
RIDGES = (1e-5, 2e-6)
GAP = 1e-3
ROWS = Executor(
    block_rows=2048
)  # wide features: the default leaves one core idle at the end


class Features(NamedTuple):
    """Double-orthogonal functions of X, their mean squares, functions of cells, and the cells."""

    F: np.ndarray
    c_x: np.ndarray
    functions: np.ndarray
    cells: np.ndarray

    def problem(self, *, preconditioned: bool = True) -> LogRatioProblem:
        """Return the program's problem, in single precision."""
        F = self.F
        blocks = Blocks(*F.shape, lambda rows: F[rows], executor=ROWS, dtype="float32")
        given = self.c_x if preconditioned else None
        return LogRatioProblem(blocks, self.cells, self.functions, None, given)


def table_of_nine(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return dependent columns of X, a signal, and noise of the same spread."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 9)) @ (np.eye(9) + 0.3 * rng.standard_normal((9, 9)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + X[:, 4] / 2
    noise = (1.2 + 0.8 * (X[:, 5] > 0)) * rng.standard_normal(n)
    return X, signal, noise


def outcomes(n: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """Yield names, columns of X, outcomes, and length scales of X."""
    X, signal, noise = table_of_nine(n)
    yield "noise as the signal", X, signal + noise, 2.0
    yield "noise a fifth of it", X, signal + noise / 5, 2.0
    if PROTEIN.exists():
        rows = np.loadtxt(PROTEIN)
        rows = rows[np.random.default_rng(0).choice(len(rows), n, replace=False)]
        yield (
            "protein",
            (rows - rows.mean(axis=0))[:, :-1] / rows.std(axis=0)[:-1],
            rows[:, -1],
            1.0,
        )


def functions_of_x(X: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return centred orthogonal kernel features, and their mean squares."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # the rank is limited on purpose
        low = jd.pivoted_cholesky(Gaussian(scale), X, max_rank=RANK, random_state=0)
    phi = low.map.features(X)
    phi -= phi.mean(axis=0)
    c, V = np.linalg.eigh(phi.T @ phi / len(X))
    return phi @ V, np.maximum(c, 0.0)


def functions_of_cells() -> np.ndarray:
    """Return the leading functions of an exponential kernel on ranks."""
    ranks = (np.arange(CELLS) + 0.5) / CELLS
    K = np.exp(-np.abs(ranks[:, None] - ranks) / 0.3)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    c, U = np.linalg.eigh(K / CELLS)
    c, U = c[-FUNCTIONS:], U[:, -FUNCTIONS:]
    return U * np.sqrt(CELLS * c)


class Traced(LogRatioProblem):
    """A problem that remembers the values of its evaluations."""

    values: list[float] = []  # noqa: RUF012  # of the last descent

    def evaluate(self, *arguments, **options):
        """Return objective and gradient, and remember the objective."""
        found = super().evaluate(*arguments, **options)
        Traced.values.append(found.value)
        return found


def descent(problem: LogRatioProblem, ridge: float, tol: float):
    """Return a solution and the values on the way to it."""
    names = ("blocks", "cells", "functions", "weights", "squares")
    traced = Traced(*(getattr(problem, name) for name in names))
    Traced.values.clear()
    found = maximum_likelihood(traced, ridge, tol=tol, max_evaluations=2000, certify=False)
    return found, np.array(Traced.values)


def evaluations(features: Features, ridge: float) -> list[str]:
    """Return the evaluations to the gap with and without preconditioner, and where it stops."""
    problem = features.problem()
    best = descent(problem, ridge, 1e-8)[0].objective
    needed = []
    for each in (problem, features.problem(preconditioned=False)):
        values = descent(each, ridge, 1e-5)[1]
        needed.append(1 + int(np.sum(np.minimum.accumulate(values) > best * (1 - GAP))))
    stopped = descent(problem, ridge, GAP)[0]
    gap = 1 - stopped.objective / best
    ratio = f"{needed[1] / needed[0]:.1f} ×"
    return [str(needed[0]), str(needed[1]), ratio, f"{stopped.iterations}, {gap:.1e}"]


def fastest(work: Callable[[], object], repeat: int) -> float:
    """Return the least time of a call."""
    return min(seconds(work, 1)[0] for _ in range(repeat))


def speed(features: Features) -> tuple[float, float, float, float]:
    """Return the time of an evaluation, and the rates of it, of a product and of thin ones.

    Thin products are those of an evaluation, of all functions of X with a few of Y.
    """
    problem = features.problem()
    n, m = problem.blocks.n, problem.blocks.m
    W = 0.01 * np.random.default_rng(0).standard_normal((FUNCTIONS, m))
    state = W, np.zeros(CELLS), 1e-5
    A = np.random.default_rng(0).standard_normal((4096, 4096)).astype(np.float32)
    F, few = features.F.astype(np.float32), W.astype(np.float32)
    tilts = few @ F.T
    own, product, thin = [], [], []
    for _ in range(5):  # interleaved, because machines are shared
        product.append(fastest(lambda: A @ A, 3))
        thin.append(fastest(lambda: (few @ F.T, tilts @ F), 5))
        sleep(0.2)  # threads of BLAS stay busy for a while after a product
        own.append(fastest(lambda: problem.evaluate(*state), 5))
    flops = 4 * n * FUNCTIONS * (m + CELLS)
    rates = 2 * 4096**3 / min(product), 4 * n * FUNCTIONS * m / min(thin)
    return min(own), flops / min(own), *rates


def program() -> None:
    """Print evaluations and their speed."""
    functions = functions_of_cells()
    rows = table(
        f"Evaluations, n = 8,000, m = {RANK:,}, r = {FUNCTIONS}, K = {CELLS}",
        *("data", "λ", f"to a gap of {GAP:g}", "no preconditioner", "ratio"),
        "stops at tol=1e-3: evaluations, gap",
        left=2,
    )
    for name, X, y, scale in outcomes(8000):
        cells = np.argsort(np.argsort(y)) * CELLS // len(y)
        features = Features(*functions_of_x(X, scale), functions, cells)
        for ridge in RIDGES:
            rows.add_row(name, f"{ridge:g}", *evaluations(features, ridge))
    console.print(rows)
    time, rate, gemm, thin = speed(features)
    print(f"An evaluation takes {1e3 * time:.1f} ms, at {rate / 1e9:.0f} GF/s: ", end="")
    print(
        f"{rate / gemm:.0%} of GEMM in float32 at {gemm / 1e9:.0f} GF/s; its two products by ",
        end="",
    )
    print(f"themselves run at {thin / gemm:.0%}\n")


def program_at_rank(X: np.ndarray, Y: np.ndarray) -> str:
    """Run the program in the bases of the closed form, and return what it did."""
    small = reduce_sample(*KERNELS, X, Y, random_state=0)
    basis = double_orthogonal(small)[0]
    functions = functions_of_cells()
    edges = np.quantile(Y[:, 0], np.arange(1, CELLS) / CELLS)
    n, m = len(X), basis.rank
    problem = LogRatioProblem(
        Blocks(n, m, lambda rows: host_features(basis, X[rows]), dtype="float32"),
        np.searchsorted(edges, Y[:, 0]),
        functions,
        None,
        basis.eigenvalues / n,
    )
    found = maximum_likelihood(problem, RIDGES[0], certify=False)
    return f"the program, rank {m}, {found.iterations} evaluations"


def model_of(positivity: str, X: np.ndarray, Y: np.ndarray) -> str:
    """Fit the whole model, and return what it is."""
    options = {"regularization": RIDGES[0], "random_state": 0, "verbose": 0}
    jd.JointDistribution(*KERNELS, positivity=positivity, **options).fit(X, Y)
    return f'the model, positivity="{positivity}"'


def drawn(n: int, place: str) -> tuple[Any, Any]:
    """Return X of three columns and one outcome; on a device if one is named."""
    if not place:
        rng = np.random.default_rng(0)
        X, noise = rng.standard_normal((n, 3)), rng.standard_normal(n)
    else:
        import torch  # noqa: PLC0415  # not a dependency

        torch.manual_seed(0)
        kind = {"dtype": torch.float64, "device": place}
        X, noise = torch.randn(n, 3, **kind), torch.randn(n, **kind)
    return X, (X[:, 0] * X[:, 1] + 0.7 * noise)[:, None]


def scale(n: int, place: str = "") -> None:
    """Print the times of the program and of the model beside that of the closed form."""
    X, Y = drawn(n, place)
    rows = table(
        f"n = {n:,}, d = 3 + 1", "fit", "seconds", "ratio", "memory above the data"
    )
    fits = [lambda: model_of("none", X, Y), lambda: model_of("exponential", X, Y)]
    if place:
        few = drawn(n // 100, place)
        model_of("exponential", *few)  # starts the device
    else:
        fits.insert(1, lambda: program_at_rank(X, Y))
    first = None
    for fit in fits:
        with peak_memory() as peak:
            start = perf_counter()
            name = fit()
            time = perf_counter() - start
        first = first or time
        rows.add_row(name, f"{time:.2f}", f"{time / first:.1f}", f"{peak[0] / 1e6:.0f} MB")
    console.print(rows)


def defaults() -> None:
    """Print the times of fits that select all that there is to select."""
    rows = table("nothing given, d = 8 + 1", "n", "limit", "seconds", "of the limit")
    for n, limit in ((1000, 3.0), (10_000, 20.0)):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 8))
        noise = 0.3 * np.exp(0.3 * X[:, 3]) * rng.standard_normal(n)
        y = X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + noise
        model = jd.JointDistribution(positivity="exponential", random_state=0, verbose=0)
        for _ in range(2):
            start = perf_counter()
            model.fit(X, y)
            time = perf_counter() - start
        rows.add_row(f"{n:,}", f"{limit:g}", f"{time:.2f}", f"{time / limit:.2f}")
    console.print(rows)


def ranking() -> None:
    """Print how well coarse fits rank the kernels of X."""
    rows = table(
        "Kernels of X, n = 2,000",
        "data",
        "kernels",
        "rank correlation",
        "excess of the choice",
    )
    for name, X, y, _ in outcomes(6000):
        options = {"positivity": "exponential", "random_state": 0, "verbose": 0}
        found = jd.JointDistribution(**options).fit(X[:2000], y[:2000]).selection_
        coarse: dict[Kernel, float] = {}
        for candidate in found.candidates:
            least = coarse.get(candidate.kernel_x, np.inf)
            coarse[candidate.kernel_x] = min(least, candidate.score)
        fine = []
        for kernel in coarse:
            model = jd.JointDistribution(kernel, **options).fit(X[:2000], y[:2000])
            fine.append(float(np.mean(jd.scores.crps(model.given(X[2000:]), y[2000:]))))
        agreement = spearmanr(list(coarse.values()), fine).statistic
        excess = fine[list(coarse).index(found.chosen.kernel_x)] / min(fine) - 1
        rows.add_row(name, str(len(fine)), f"{agreement:.2f}", f"{excess:.1%}")
    console.print(rows)


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("section", nargs="?", choices=SECTIONS)
    parser.add_argument("--rows", type=float, default=1e6, help="rows of the section scale")
    parser.add_argument(
        "--device", default="", help="of the section scale: of PyTorch, as cuda"
    )
    options = parser.parse_args()
    heading()
    wanted = {options.section} if options.section else set(SECTIONS)
    if "program" in wanted:
        program()
    if "scale" in wanted:
        scale(int(options.rows), options.device)
    if "defaults" in wanted:
        defaults()
    if "ranking" in wanted:
        ranking()


if __name__ == "__main__":
    main()
