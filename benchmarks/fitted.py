"""Fitted models as small values: the pass, the questions after it, and their sizes.

``python benchmarks/fitted.py`` runs on the CPU; ``--device cuda`` needs PyTorch.
"""

import pickle
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from measure import gemm_rate, heading

import jointdist as jd
from jointdist.kernels import Gaussian
from jointdist.lowrank.reduction import reduce_sample
from jointdist.lowrank.support_proposal import FramePlan
from jointdist.scores import crps

KERNEL = Gaussian(1.5)
OPTIONS: dict[str, Any] = {"regularization": 1e-3, "random_state": 0, "verbose": 0}


def data(n: int, d: int, place: str = "", dtype: str = "float64") -> tuple[Any, Any]:
    """Return X of three columns and Y of d columns, dependent; on a device if one is named."""
    if not place:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 3))
        return X, (X[:, :d] + 0.7 * rng.normal(size=(n, d))) / np.sqrt(1.49)
    import torch  # noqa: PLC0415  # not a dependency

    torch.manual_seed(0)
    kind = {"dtype": getattr(torch, dtype), "device": place}
    X = torch.randn(n, 3, **kind)
    return X, (X[:, :d] + 0.7 * torch.randn(n, d, **kind)) / 1.49**0.5


def finished(place: str) -> None:
    """Wait for an accelerator."""
    if place:
        import torch  # noqa: PLC0415  # not a dependency

        torch.cuda.synchronize()


def timed(f: Any, place: str = "") -> tuple[float, Any]:
    """Return the time of a call and its result."""
    finished(place)
    start = perf_counter()
    result = f()
    finished(place)
    return perf_counter() - start, result


def fitted(n: int, d: int, place: str = "") -> tuple[float, Any, Any, Any]:
    """Return the time of a fit, the model, and its data."""
    X, Y = data(n, d, place)
    model = jd.JointDistribution(KERNEL, KERNEL, **OPTIONS)
    time, _ = timed(lambda: model.fit(X, Y), place)
    return time, model, X, Y


def passes(n: int, repeat: int) -> None:
    """Print the time of the pass with the sums of the support, beside that without."""
    X, Y = data(n, 3)
    Y = np.random.default_rng(1).normal(size=Y.shape)  # workload W of engine.py
    plans = [None, FramePlan((False, False), 0)]
    times: list[list[float]] = [[], []]
    for _ in range(repeat):
        for own, plan in zip(times, plans, strict=True):
            run = lambda p=plan: reduce_sample(KERNEL, KERNEL, X, Y, random_state=0, plan=p)  # noqa: E731
            own.append(timed(run)[0])
    before, after = map(median, times)
    print(
        f"pass, n = {n:.0e}, d = 3 + 3: {before:.2f} s, with the sums of the support ",
        end="",
    )
    print(f"{after:.2f} s: {after / before:.2f} x (medians of {repeat}, interleaved)\n")


def questions(n: int, place: str = "") -> None:
    """Print the times of the first questions after a fit."""
    print(
        "| n | d | fit | first 1,000 means | second | 90 % intervals | 10 draws | pickle |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for d in (3, 1):
        time, model, X, _ = fitted(n, d, place)
        one, two = X[:1000], X[1000:2000]
        first = timed(lambda m=model, q=one: m.given(x=q).mean(), place)[0]
        second = timed(lambda m=model, q=two: m.given(x=q).mean(), place)[0]
        dist = model.given(x=one)
        dist.mean()
        ends = timed(lambda dist=dist: dist.interval(0.9), place)[0]
        drawn = timed(lambda dist=dist: dist.sample(10, random_state=0), place)[0]
        size = len(pickle.dumps(model)) / 1e6
        cells = (
            f"{time:.2f} s | {first:.3f} s | {second:.3f} s | {ends:.3f} s | {drawn:.3f} s"
        )
        print(f"| {n:.0e} | 3 + {d} | {cells} | {size:.1f} MB |")
    print()


def growth(few: int, many: int) -> None:
    """Print how the time of 10,000 questions depends on the number of rows."""
    print(f"| 10,000 questions, d | n = {few:.0e} | n = {many:.0e} | ratio |")
    print("|---|---|---|---|")
    for d in (3, 1):
        models = [fitted(n, d)[1] for n in (few, many)]
        q = np.random.default_rng(2).normal(size=(10_000, 3))
        times: list[list[float]] = [[], []]
        for _ in range(3):
            for own, model in zip(times, models, strict=True):
                own.append(timed(lambda m=model, q=q: asked(m, q))[0])
        a, b = map(min, times)
        print(f"| 3 + {d} | {a:.2f} s | {b:.2f} s | {b / a:.2f} |")
    print()


def asked(model: Any, q: Any) -> None:
    """Ask for means, intervals and draws."""
    dist = model.given(x=q)
    dist.mean()
    dist.interval(0.9)
    dist.sample(1, random_state=0)


def files() -> None:
    """Print the sizes of files and the time of loading them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 8))
    regressor = jd.DistributionRegressor(random_state=0, verbose=0)
    models = {
        "JointDistribution, n = 1e5, d = 3 + 3": fitted(10**5, 3)[1],
        "JointDistribution, n = 1e5, d = 3 + 1": fitted(10**5, 1)[1],
        "DistributionRegressor, 1,000 x 8": regressor.fit(
            X, X[:, 0] + rng.normal(size=1000)
        ),
    }
    print("| model | pickle | file | load |")
    print("|---|---|---|---|")
    for name, model in models.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.jd"
            model.save(path)
            time = min(timed(lambda p=path: jd.load(p))[0] for _ in range(5))
            sizes = len(pickle.dumps(model)) / 1e6, path.stat().st_size / 1e6
        print(f"| {name} | {sizes[0]:.1f} MB | {sizes[1]:.1f} MB | {1e3 * time:.0f} ms |")
    print()


def on_device(n: int, place: str) -> None:
    """Print the times of many questions on an accelerator."""
    _, model, X, _ = fitted(n, 3, place)
    means = min(timed(lambda: model.given(x=X[: 10**5]).mean(), place)[0] for _ in range(2))
    dist = model.given(x=X[:1000])
    draws = min(timed(lambda: dist.sample(10, random_state=0), place)[0] for _ in range(2))
    _, scalar, X, Y = fitted(n, 1, place)
    dist, outcomes = scalar.given(x=X[: 10**5]), Y[: 10**5, 0].cpu().numpy()
    scored = timed(lambda: crps(dist, outcomes), place)[0]
    print(f"n = {n:.0e}: means of 10^5 projected distributions {means:.2f} s, ", end="")
    print(f"ten draws of 1,000 {draws:.2f} s, CRPS of 10^5 scalar ones {scored:.2f} s\n")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="", help="a device of PyTorch, such as cuda")
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--many", type=float, default=1e7)
    parser.add_argument("--billion", action="store_true", help="10^9 rows in float32")
    options = parser.parse_args()
    place = options.device
    heading(f"GEMM at {gemm_rate() / 1e9:.0f} GF/s")
    if not place:
        passes(int(options.rows), 5)
        questions(int(options.rows))
        growth(10**5, int(options.many))
        files()
        return
    data(1000, 3, place)  # starts the device
    fitted(10**5, 3, place)
    questions(int(options.many), place)
    on_device(int(options.many), place)
    if options.billion:
        X, Y = data(10**9, 3, place, "float32")
        model = jd.JointDistribution(KERNEL, KERNEL, **OPTIONS)
        print(
            f"fit of 10^9 rows in float32: {timed(lambda: model.fit(X, Y), place)[0]:.1f} s"
        )


if __name__ == "__main__":
    main()
