"""The methods for one outcome, each from training rows to predictive distributions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

import numpy as np

from benchmarks.forecasts.dists import (
    Draws,
    Forecast,
    Learned,
    Leaves,
    Normal,
    Quantiles,
)
from benchmarks.forecasts.splits import Split
from benchmarks.peers.data import Task
from benchmarks.peers.dists import levels

__all__ = ["METHODS", "OURS", "PEERS", "Method", "estimator"]

Predictor: TypeAlias = Callable[[], Forecast]
Fit: TypeAlias = Callable[[Split, int], Predictor]

LEVELS = 20  # of quantiles; those of a normal distribution have a CRPS that is 0.2 % higher
DRAWS = 1000
PACKAGE = "jointdist"


@dataclass(frozen=True)
class Method:
    """A method, with what the tables say about it.

    Attributes
    ----------
    fit : callable
        From a split and a seed to a predictor, which returns forecasts of the test rows.
    settings : str
        Arguments that differ from defaults.
    package : str
        The package, for its version.
    most : int, optional
        The largest number of training rows; of more, a random subsample is used.
    limit : int, optional
        The method is not run on more training rows.
    """

    fit: Fit = field(compare=False)
    settings: str
    package: str = PACKAGE
    most: int | None = None
    limit: int | None = None

    @property
    def version(self) -> str:
        """The package with its version; empty if not installed."""
        try:
            return f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            return _source_version() if self.package == PACKAGE else ""


def _source_version() -> str:
    """Return the version of this package where it is not installed, but on the path."""
    try:
        import jointdist  # noqa: PLC0415
    except ImportError:
        return ""
    return f"{PACKAGE} {jointdist.__version__}"


def estimator(name: str, **arguments: Any) -> Fit:
    """Return the fit of an estimator of this package.

    Parameters
    ----------
    name : str
        Its class.
    **arguments
        Its arguments.
    """
    return partial(_learned, name, arguments)


def _learned(name: str, arguments: Mapping[str, Any], split: Split, seed: int) -> Predictor:
    import jointdist  # noqa: PLC0415  # peers may lack what it needs

    made = getattr(jointdist, name)(random_state=seed, verbose=0, **arguments)
    model = made.fit(split.table.given(split.train), split.y)
    X = split.table.given(split.test)
    return lambda: Learned(model.given(X))


def _before(split: Split, seed: int) -> Predictor:
    """Fit the default of a revision that has no efforts, for a comparison on the same rows."""
    import jointdist  # noqa: PLC0415

    model = jointdist.DistributionRegressor(random_state=seed, verbose=0)
    if "effort" in model.get_params():
        msg = "before: an earlier revision must be on the path, which has no `effort`"
        raise ValueError(msg)
    model.fit(split.table.given(split.train), split.y)
    X = split.table.given(split.test)
    return lambda: Learned(model.given(X))


def _numeric(split: Split) -> tuple[Task, np.ndarray]:
    """Return the training rows as numbers, and those of the test rows."""
    Z, Z_test = split.table.numbers(split.train), split.table.numbers(split.test)
    return Task("univariate", Z, split.y, Z_test, split.y_test), Z_test


def quantile_forest(split: Split, seed: int) -> Predictor:
    """Fit a quantile forest: training outcomes weighted by shared leaves."""
    from benchmarks.quality.methods import quantile_forest as fit  # noqa: PLC0415

    task, Z = _numeric(split)
    dists = fit(task, seed)
    return lambda: Leaves(dists(Z).samples)


def ngboost(split: Split, seed: int) -> Predictor:
    """Fit NGBoost with normal distributions."""
    from ngboost import NGBRegressor  # noqa: PLC0415

    task, Z = _numeric(split)
    model = NGBRegressor(verbose=False, random_state=seed).fit(task.X, task.Y)

    def dists() -> Normal:
        found = model.pred_dist(Z)
        return Normal(found.loc, found.scale)

    return dists


def xgboost_distribution(split: Split, seed: int) -> Predictor:
    """Fit boosted normal distributions, with early stopping on a tenth of the rows."""
    from xgboost_distribution import XGBDistribution  # noqa: PLC0415

    task, Z = _numeric(split)
    rest, held = _tenth_held(len(task.Y), seed)
    model = XGBDistribution(
        distribution="normal",
        n_estimators=500,
        early_stopping_rounds=10,
        n_jobs=1,
        random_state=seed,
    )
    own = [(task.X[held], task.Y[held])]
    model.fit(task.X[rest], task.Y[rest], eval_set=own, verbose=False)

    def dists() -> Normal:
        found = model.predict(Z)
        return Normal(np.asarray(found.loc, float), np.asarray(found.scale, float))

    return dists


def boosted_quantiles(split: Split, seed: int) -> Predictor:
    """Fit twenty boosted quantiles of scikit-learn and sort their predictions."""
    from benchmarks.peers.methods import boosted_quantiles as fit  # noqa: PLC0415

    task, Z = _numeric(split)
    values = fit(task, seed)
    return lambda: Quantiles(values(Z))


def catboost(split: Split, seed: int) -> Predictor:
    """Fit one model of many quantiles; it encodes categories itself, as its manual advises."""
    from catboost import CatBoostRegressor  # noqa: PLC0415

    alpha = ",".join(f"{p:.6g}" for p in levels(LEVELS))
    model = CatBoostRegressor(
        loss_function=f"MultiQuantile:alpha={alpha}",
        cat_features=list(split.table.categories),
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )
    model.fit(split.table.given(split.train), split.y)
    X = split.table.given(split.test)
    return lambda: Quantiles(np.sort(model.predict(X, thread_count=1), axis=1))


def treeffuser(split: Split, seed: int) -> Predictor:
    """Fit a diffusion model of trees, and draw from it."""
    from treeffuser import Treeffuser  # noqa: PLC0415

    task, Z = _numeric(split)
    model = Treeffuser(seed=seed, n_jobs=1)
    model.fit(task.X, task.Y)
    return lambda: Draws.of(
        model.sample(Z, n_samples=DRAWS, seed=seed).reshape(DRAWS, -1).T
    )


def engression(split: Split, seed: int) -> Predictor:
    """Fit a generative neural network to the energy score, and draw from it.

    Learning rate, epochs and batches are those of its manual's example, and a tenth of the
    rows chooses the number of iterations, as it explains.
    """
    import torch  # noqa: PLC0415
    from engression import engression as fit  # noqa: PLC0415

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    task, Z = _numeric(split)
    rest, held = _tenth_held(len(task.Y), seed)
    X, y, at = (torch.as_tensor(A).float() for A in (task.X, task.Y[:, None], Z))
    model = fit(
        X[rest],
        y[rest],
        x_val=X[held],
        y_val=y[held],
        lr=0.01,
        num_epochs=500,
        batch_size=1000,
        verbose=False,
    )
    return lambda: Draws.of(model.sample(at, sample_size=DRAWS).reshape(len(Z), DRAWS))


def _tenth_held(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to learn from, and a tenth of them for early stopping."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n * 9 // 10], order[n * 9 // 10 :]


def _ours(name: str, **arguments: Any) -> Method:
    said = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return Method(estimator(name, **arguments), f"{name}({said})")


OURS: dict[str, Method] = {
    "fast": _ours("DistributionRegressor", effort="fast"),
    "auto": _ours("DistributionRegressor"),
    "best": _ours("DistributionRegressor", effort="best"),
    "kernel": _ours("DistributionRegressor", regressor="kernel"),
    "joint": _ours("JointDistribution"),
    "exponential": _ours("JointDistribution", positivity="exponential"),
}
BEFORE = {"before": Method(_before, "DistributionRegressor() of an earlier revision")}
PEERS: dict[str, Method] = {
    "CatBoost": Method(
        catboost, f"MultiQuantile of {LEVELS} levels", "catboost", limit=50_000
    ),
    "quantile-forest": Method(
        quantile_forest, "200 trees, leaves of 5 rows", "quantile-forest", limit=50_000
    ),
    "NGBoost": Method(ngboost, "defaults", "ngboost", most=20_000),
    "xgboost-distribution": Method(
        xgboost_distribution,
        "normal, at most 500 trees, early stopping on a tenth of the rows",
        "xgboost-distribution",
    ),
    "boosted quantiles": Method(
        boosted_quantiles,
        f"{LEVELS} levels, a HistGradientBoostingRegressor each",
        "scikit-learn",
    ),
    "treeffuser": Method(treeffuser, f"{DRAWS:,} draws", "treeffuser", limit=2_000),
    "engression": Method(
        engression,
        "learning rate 0.01, 500 epochs, batches of 1,000, a tenth of the rows for "
        f"validation; {DRAWS:,} draws",
        "engression",
        limit=50_000,
    ),
}
METHODS: dict[str, Method] = OURS | BEFORE | PEERS
