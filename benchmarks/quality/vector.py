"""Multivariate predictive distributions: energy scores, against independent columns."""

from functools import partial

import numpy as np

from benchmarks.peers import methods as peers
from benchmarks.peers.data import Task, load
from benchmarks.peers.dists import DRAWS, energy_score
from benchmarks.peers.methods import Method
from benchmarks.quality.measured import measured
from benchmarks.quality.methods import LIKELIHOOD, OURS
from benchmarks.quality.section import DEVELOPMENT, EVALUATION, section
from experiments.store import Row, Settings

__all__ = ["METHODS", "SECTION", "Waves", "compute"]

SETS = {"waves": (5000, 2000), "waves, small": (80, 20)}  # rows, test rows
NAVAL = "naval, both"


class Waves:
    """Three outcomes, given four columns X that are uniform between -1 and 1.

    Means are sines, products and absolute values of X. The noise grows with the last column,
    and has a common factor whose loading on the second and third outcome depends on X, also in
    sign: correlations range from about -0.9 to 0.9 and are near zero on average.
    """

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the means, ``(n, 3)``."""
        a, b, c, _ = X.T
        return np.stack([np.sin(3 * a) + b**2, 2 * a * b, np.abs(b) + np.cos(3 * c)], 1)

    def shared(self, X: np.ndarray) -> np.ndarray:
        """Return the loading of each outcome on the common factor, ``(n, 3)``."""
        a, b, _, _ = X.T
        return 0.95 * np.stack([np.ones(len(X)), np.tanh(4 * a), np.sin(3 * b)], 1)

    def draws(self, X: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws from the true conditional distributions, ``(n, size, 3)``."""
        z, shared = rng.standard_normal((len(X), size, 4)), self.shared(X)[:, None]
        unit = shared * z[..., :1] + np.sqrt(1 - shared**2) * z[..., 1:]
        scale = 0.4 * np.exp(0.5 * X[:, 3])
        return self.mean(X)[:, None] + scale[:, None, None] * unit

    def task(self, n: int, tests: int, seed: int) -> Task:
        """Return training and test rows."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (n + tests, 4))
        Y = self.draws(X, 1, rng)[:, 0]
        return Task("joint", X[:n], Y[:n], X[n:], Y[n:])

    def truth(self, task: Task, seed: int) -> peers.Predictor:
        """Return the true distributions, the best possible on average."""
        del task
        rng = np.random.default_rng([seed, 1])
        return lambda X: self.draws(X, DRAWS, rng)


METHODS = {
    name: peers.METHODS["joint"][name]
    for name in ("quantile-forest, independent", "quantile-forest")
} | {
    name: Method(partial(peers.joint, make), "jointdist")
    for name, make in (OURS | {"exponential": LIKELIHOOD}).items()
    if name != "isotonic"  # which is for one column
}


def compute(one: Settings) -> list[Row]:
    """Return the scores of all methods on one split of a set."""
    name, split = str(one["data"]), int(one["split"])
    if name == NAVAL:
        return measured(METHODS, load(name, split), split, _scores)
    task = Waves().task(*SETS[name], split)
    truth = {"truth": Method(Waves().truth, "numpy")}
    return measured(METHODS | truth, task, split, _scores)


def _scores(draws: np.ndarray, task: Task) -> Row:
    """Return the mean energy score, in standard deviations of the training rows."""
    found = energy_score(draws, task.Y_test, task.Y.std(axis=0))
    return {"rows": len(task.Y), "tests": len(draws), "energy": float(found.mean())}


SECTION = section(
    "vector",
    "Multivariate predictive distributions",
    compute,
    tiny={"waves, small": (0,)},
    development={NAVAL: DEVELOPMENT, "waves": DEVELOPMENT},
    evaluation={NAVAL: EVALUATION, "waves": EVALUATION},
)
