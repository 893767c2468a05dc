"""CPU time of eight threads that ask one model, over that of one thread with the same questions.

Run ``make bench``. Each kind of model is asked in a process of its own, with two threads of
BLAS allowed. One is best: threads that wait for each other's BLAS threads spin, and the time
they spin is CPU time. The next column is the ratio where BLAS may use one thread alone: what
Python's own lock and shared caches cost, as they do in the first row, where threads work on arrays
of NumPy alone. The last column is the ratio with ten times the conditions a question. Times are the
least of three runs, of models that were asked before.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, process_time

import numpy as np
from measure import console, heading, table

import jointdist as jd
from jointdist.kernels import Gaussian, Matern

THREADS, RUNS, SEED = 8, 3, 0
KERNELS = Matern(1.0, 1.5), Gaussian(0.5)
Question = Callable[[], object]


def rows(n: int, seed: int = SEED):
    """Return n rows of X, and of a Y that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, X @ [0.8, -0.5] + 0.3 * rng.standard_normal(n)


def of_kernels(kind: type, **options):
    """Return a model with given kernels and ridge, and its rows."""
    options |= {"regularization": 1e-3, "random_state": SEED, "verbose": 0}
    return kind(*KERNELS, **options).fit(*rows(4000))


def joint():
    return of_kernels(jd.JointDistribution)


def signed():
    return of_kernels(jd.JointDistribution, positivity="none")


def polynomial():
    model = jd.PolynomialJointDistribution(5, regularization=1e-3, random_state=SEED)
    return model.fit(*rows(4000))


def embedding():
    return of_kernels(jd.ConditionalMeanEmbedding)


def full_embedding():
    options = {"regularization": 1e-3, "random_state": SEED, "low_rank": False}
    return jd.ConditionalMeanEmbedding(*KERNELS, **options).fit(*rows(1500))


def regressor():
    return jd.DistributionRegressor("kernel", random_state=SEED).fit(*rows(1500))


def boosted():
    return jd.DistributionRegressor(random_state=SEED).fit(*rows(1500))


def conformal():
    inner = jd.JointDistribution(*KERNELS, regularization=1e-3, random_state=SEED)
    return jd.ConformalCalibration(inner, random_state=SEED).fit(*rows(4000))


def classifier():
    X, y = rows(4000)
    return jd.JointClassifier(random_state=SEED).fit(X, np.digitize(y, [-0.5, 0.5]))


def logistic():
    X, y = rows(4000)
    return jd.KernelLogisticRegression(random_state=SEED).fit(X, y > 0)


def of_distributions(model, q: int) -> list[Question]:
    """Return questions about conditional distributions."""
    X, y = rows(q, SEED + 1)
    given = model.given
    levels = [0.1, 0.5, 0.9]
    return [
        lambda: given(X).mean(),
        lambda: given(X).quantile(levels),
        lambda: given(X).cdf(y),
        lambda: given(X).interval(0.9),
        lambda: given(X).sample(3, random_state=0),
        lambda: model.score(X, y),
        lambda: given(X[:50]).pdf(y[:50]),
        lambda: model.predict(X),
    ]


def of_arrays(_model, q: int) -> list[Question]:
    """Return work on arrays of 1,000 numbers, without a model."""
    numbers = rows(1000)[1]

    def work() -> None:
        for _ in range(10 * q):
            _ = 1.5 * numbers + 2.0

    return [work]


def of_classes(model, q: int) -> list[Question]:
    """Return questions about probabilities of classes."""
    X, _ = rows(q, SEED + 1)
    return [lambda: model.predict_proba(X), lambda: model.predict(X)]


# The model, its questions, the number of conditions, and how often they are asked, so that
# one thread needs one to two seconds.
KINDS = {
    "NumPy alone": (lambda: None, of_arrays, 100, 64),
    "JointDistribution": (joint, of_distributions, 100, 1),
    'JointDistribution, positivity "none"': (signed, of_distributions, 100, 1),
    "PolynomialJointDistribution": (polynomial, of_distributions, 100, 2),
    "ConditionalMeanEmbedding": (embedding, of_distributions, 100, 1),
    "ConditionalMeanEmbedding, full": (full_embedding, of_distributions, 100, 1),
    'DistributionRegressor("kernel")': (regressor, of_distributions, 100, 4),
    "DistributionRegressor()": (boosted, of_distributions, 100, 2),
    "ConformalCalibration": (conformal, of_distributions, 100, 1),
    "JointClassifier": (classifier, of_classes, 2000, 32),
    "KernelLogisticRegression": (logistic, of_classes, 2000, 128),
}


def asked(ask: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU time and the time of questions: the least of some runs."""
    found = []
    for _ in range(RUNS):
        start, cpu = perf_counter(), process_time()
        ask()
        found.append((process_time() - cpu, perf_counter() - start))
    return min(found)


def measured(kind: str, times: int) -> dict[str, float]:
    """Return times of one thread and of eight with the same questions, in this process."""
    make, ask_of, conditions, repeats = KINDS[kind]
    questions, repeats = ask_of(make(), conditions * times), max(repeats // times, 1)
    for ask in questions:
        ask()
    work = questions * repeats * THREADS

    def alone() -> None:
        for ask in work:
            ask()

    def together() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            for future in [pool.submit(ask) for ask in work]:
                future.result()

    one, eight = asked(alone), asked(together)
    return {"one": one[0], "eight": eight[0], "one_wall": one[1], "eight_wall": eight[1]}


def in_child(kind: str, threads: int, times: int = 1) -> dict[str, float]:
    """Return the times of :func:`measured` in a process with some BLAS threads."""
    variables = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(variables, str(threads))
    command = [sys.executable, __file__, "--kind", kind, "--times", str(times)]
    run = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)  # noqa: S603
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main(kinds: Sequence[str]) -> None:
    """Print the table."""
    heading()
    heads = (
        "one thread: CPU",
        "time",
        "eight: CPU",
        "time",
        "ratio of CPU",
        "one BLAS thread",
        "10 x conditions",
    )
    found = table("Eight threads ask one model", "model", *heads)
    for kind in kinds:
        of, plain, many = in_child(kind, 2), in_child(kind, 1), in_child(kind, 2, 10)
        times = (of[name] for name in ("one", "one_wall", "eight", "eight_wall"))
        ratios = (each["eight"] / each["one"] for each in (of, plain, many))
        found.add_row(
            kind, *(f"{each:.2f} s" for each in times), *(f"{each:.2f}" for each in ratios)
        )
    console.print(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, help="measure one kind, as JSON")
    parser.add_argument("--times", type=int, default=1, help="so many times the conditions")
    chosen = parser.parse_args()
    if chosen.kind is None:
        main(list(KINDS))
    else:
        print(json.dumps(measured(chosen.kind, chosen.times)))
