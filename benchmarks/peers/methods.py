"""The methods, each from training rows to a predictor for new rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtri
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import jointdist
from benchmarks.peers.data import Task, numbers
from benchmarks.peers.densities import kernel_density, least_squares
from benchmarks.peers.dists import DRAWS, LEVELS, levels

__all__ = ["METHODS", "Method"]

Predictor: TypeAlias = Callable[[Any], np.ndarray]
Fit: TypeAlias = Callable[[Task, int], Predictor]

INNER = 3  # folds of validation
SCALES = np.array([0.5, 1.0, 2.0, 4.0])  # length scales for columns of unit variance
RIDGES = np.logspace(-6, 2, 9)
TOL, SCALE = 1e-3, 1.5  # of low-rank factors


@dataclass(frozen=True)
class Method:
    """A method and its limits on the number of rows.

    Attributes
    ----------
    fit : callable
        From a task and a seed to a predictor.
    package : str
        The package, for its version.
    most : int, optional
        The largest number of training rows; more rows are subsampled at random.
    limit : int, optional
        The method is not run on more rows than this.
    """

    fit: Fit
    package: str = "scikit-learn"
    most: int | None = None
    limit: int | None = None

    @property
    def version(self) -> str:
        """The package with its version; empty if not installed."""
        try:
            return f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            return ""

    def refusal(self, rows: int) -> str:
        """Return why the method is not run on this number of rows; empty if it is."""
        if not self.version:
            return f"{self.package} is not installed"
        return f"more than {self.limit:,} rows" if rows > (self.limit or rows) else ""


def marginal(task: Task, seed: int) -> Predictor:
    """Predict the marginal distribution of training outcomes for every row."""
    del seed
    if task.kind == "event":
        return lambda X: np.full(len(X), task.events.mean())
    quantiles = np.quantile(task.Y, LEVELS)
    return lambda X: np.tile(quantiles, (len(X), 1))


def marginal_draws(task: Task, seed: int) -> Predictor:
    rng = np.random.default_rng(seed)
    return lambda X: rng.choice(task.Y, (len(X), DRAWS))


def joint(model: Any, task: Task, seed: int) -> Predictor:
    """Fit a model of this package and predict quantiles, draws or the event's probability."""
    fitted = model(random_state=seed).fit(task.X, task.Y)
    if task.kind == "univariate":
        return lambda X: fitted.given(x=X).quantile(LEVELS)
    if task.kind == "joint":
        return lambda X: fitted.given(x=X).sample(DRAWS, random_state=seed)
    return lambda X: fitted.given(x=X).prob(lambda y: y <= task.threshold)


def signed(kind: Any, random_state: int) -> Any:
    """Return an unconstrained model, whose weights may be negative."""
    return kind(positivity="none", random_state=random_state)


def probabilities(classifier: Callable[[int], Any], task: Task, seed: int) -> Predictor:
    """Fit a classifier of events with given parameters."""
    fitted = classifier(seed).fit(task.X, task.events)
    return lambda X: fitted.predict_proba(X)[:, 1]


def quantile_forest(task: Task, seed: int) -> Predictor:
    """Fit a quantile forest: quantiles of leaf samples, or draws from shared leaves."""
    from quantile_forest import RandomForestQuantileRegressor  # noqa: PLC0415

    model = RandomForestQuantileRegressor(200, min_samples_leaf=5, random_state=seed)
    model.fit(numbers(task.X), task.Y)
    if task.kind == "univariate":
        return lambda X: model.predict(numbers(X), quantiles=LEVELS.tolist())
    rng = np.random.default_rng(seed)

    def draws(X: Any) -> np.ndarray:
        pairs = (np.array(own) for own in model.proximity_counts(numbers(X)))
        rows = [rng.choice(i, DRAWS, p=n / n.sum()) for i, n in (own.T for own in pairs)]
        return task.Y[np.array(rows)]

    return draws


def normal(mean: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
    """Return the quantiles of normal distributions."""
    return mean[:, None] + np.multiply.outer(
        np.broadcast_to(scale, len(mean)), ndtri(LEVELS)
    )


def normal_draws(mean: np.ndarray, cov: np.ndarray, seed: int) -> np.ndarray:
    """Return draws from multivariate normal distributions."""
    z = np.random.default_rng(seed).standard_normal((*mean.shape, DRAWS))
    return mean[:, None] + np.swapaxes(np.linalg.cholesky(cov) @ z, 1, 2)


def ngboost(task: Task, seed: int) -> Predictor:
    from ngboost import NGBRegressor  # noqa: PLC0415
    from ngboost.distns import MultivariateNormal, Normal  # noqa: PLC0415

    dist = Normal if task.kind == "univariate" else MultivariateNormal(task.Y.shape[1])
    model = NGBRegressor(Dist=dist, verbose=False, random_state=seed)
    model.fit(numbers(task.X), task.Y)

    def predicted(X: Any) -> np.ndarray:
        dists = model.pred_dist(numbers(X))
        if task.kind == "univariate":
            return normal(dists.loc, dists.scale)
        return normal_draws(dists.loc, dists.cov, seed)

    return predicted


def xgboost_distribution(task: Task, seed: int) -> Predictor:
    """Fit boosted normal distributions, with early stopping on a tenth of the rows."""
    from xgboost_distribution import XGBDistribution  # noqa: PLC0415

    X, y = numbers(task.X), task.Y
    rest, held = np.split(
        np.random.default_rng(seed).permutation(len(y)), [len(y) * 9 // 10]
    )
    model = XGBDistribution(
        distribution="normal",
        n_estimators=500,
        early_stopping_rounds=10,
        n_jobs=1,
        random_state=seed,
    )
    model.fit(X[rest], y[rest], eval_set=[(X[held], y[held])], verbose=False)

    def predicted(X: Any) -> np.ndarray:
        dists = model.predict(numbers(X))
        return normal(dists.loc, dists.scale)

    return predicted


def boosted_quantiles(task: Task, seed: int) -> Predictor:
    """Fit twenty boosted quantiles and sort their predictions."""
    X = numbers(task.X)
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=p, random_state=seed).fit(
            X, task.Y
        )
        for p in levels(20)
    ]

    def predicted(X: Any) -> np.ndarray:
        X = numbers(X)
        return np.sort(np.stack([model.predict(X) for model in models], axis=1))

    return predicted


def nystroem(
    rows: int, columns: int, most: int, seed: int
) -> tuple[Nystroem, dict[str, list[float]]]:
    """Return features of a Gaussian kernel, and the candidate widths."""
    most = min(most, rows // 2)
    widths = {"nystroem__gamma": (0.5 / (SCALES**2 * columns)).tolist()}
    return Nystroem(n_components=most, random_state=seed), widths


def nystroem_ridge(task: Task, seed: int) -> Predictor:
    """Fit ridge regression on kernel features, with normal residuals of constant covariance."""
    X, Y = numbers(task.X), task.Y
    features, widths = nystroem(*X.shape, 500, seed)
    ridge = TransformedTargetRegressor(RidgeCV(RIDGES), transformer=StandardScaler())
    pipeline = make_pipeline(StandardScaler(), features, ridge)
    search = GridSearchCV(pipeline, widths, cv=INNER, scoring="r2").fit(X, Y)
    best = search.best_estimator_
    rest = Y - cross_val_predict(best, X, Y, cv=INNER)
    cov = np.atleast_2d(np.cov(rest, rowvar=False))
    if task.kind == "univariate":
        return lambda X: normal(best.predict(numbers(X)), np.sqrt(cov[0, 0]))
    return lambda X: normal_draws(best.predict(numbers(X)), cov, seed)


def nystroem_logistic(task: Task, seed: int) -> Predictor:
    """Fit logistic regression on kernel features."""
    features, widths = nystroem(*task.X.shape, 300, seed)
    logistic = LogisticRegression(solver="newton-cholesky")
    pipeline = make_pipeline(StandardScaler(), features, logistic)
    tried = widths | {"logisticregression__C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(pipeline, tried, cv=INNER, scoring="neg_log_loss")
    search.fit(task.X, task.events)
    return lambda X: search.predict_proba(X)[:, 1]


def mixture(fit: Callable[..., Any], task: Task, seed: int) -> Predictor:
    """Fit a conditional mixture density and predict quantiles or draws."""
    dists = fit(numbers(task.X), task.Y, seed)
    if task.kind == "univariate":
        return lambda X: dists(numbers(X)).quantiles()
    return lambda X: dists(numbers(X)).draws(seed)


def reference_density(X: np.ndarray, Y: np.ndarray, seed: int) -> Any:
    del seed  # nothing is random
    return kernel_density(X, Y, "normal_reference")


def likely_density(X: np.ndarray, Y: np.ndarray, seed: int) -> Any:
    del seed
    return kernel_density(X, Y, "cv_ml")


def density_ratio(task: Task, seed: int) -> Predictor:
    """Fit the density ratio of joint to permuted rows, used as weights of the outcomes."""
    from densratio import densratio  # noqa: PLC0415

    to_x, to_y = StandardScaler().fit(task.X), StandardScaler().fit(task.Y[:, None])
    X, y = to_x.transform(task.X), np.sort(to_y.transform(task.Y[:, None]), axis=0)
    rows = np.column_stack([X, to_y.transform(task.Y[:, None])])
    apart = np.column_stack([X, np.random.default_rng(seed).permutation(rows[:, -1])])
    np.random.seed(seed)  # noqa: NPY002  the package draws from the global generator
    tried = {"sigma_range": 2.0 ** np.arange(-3, 4), "lambda_range": np.logspace(-4, 1, 6)}
    ratio = densratio(rows, apart, verbose=False, **tried).compute_density_ratio
    outcomes = np.sort(task.Y)

    def quantiles(x: np.ndarray) -> np.ndarray:
        weights = ratio(np.column_stack([np.tile(x, (len(y), 1)), y])) + 1e-300
        upto = np.cumsum(weights) / weights.sum()
        return outcomes[np.searchsorted(upto[:-1], LEVELS)]

    return lambda X: np.array([quantiles(x) for x in to_x.transform(X)])


def independent(fit: Fit, task: Task, seed: int) -> Predictor:
    """Fit each column separately, as if columns were independent given X."""
    one = [fit(Task("univariate", task.X, y, None, y), seed) for y in task.Y.T]
    rng = np.random.default_rng(seed)

    def column(values: np.ndarray) -> np.ndarray:
        p, u = levels(values.shape[1]), rng.random((len(values), DRAWS))
        return np.array(
            [np.interp(*own) for own in zip(u, [p] * len(u), values, strict=True)]
        )

    return lambda X: np.stack([column(predict(X)) for predict in one], axis=2)


def pivots(task: Task, seed: int) -> Predictor:
    kernel = jointdist.kernels.Gaussian(SCALE)
    low = jointdist.pivoted_cholesky(kernel, task.X, tol=TOL, random_state=seed)
    return lambda _: np.array([low.rank, low.relative_error])


def fmca(task: Task, seed: int) -> Predictor:
    """Factor by the compiled code of the paper's authors, with the same length scale."""
    from FMCA import CovarianceKernel, PivotedCholesky  # noqa: PLC0415

    del seed  # greedy
    kernel = CovarianceKernel("GAUSSIAN", SCALE)
    L = PivotedCholesky(kernel, np.asfortranarray(task.X.T), TOL).matrixL()
    return lambda _: np.array([L.shape[1], 1 - np.einsum("ij,ij->", L, L) / len(L)])


def _forest(seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(200, min_samples_leaf=5, random_state=seed)


def _boosted(seed: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(early_stopping=True, random_state=seed)


def _labels(seed: int) -> jointdist.JointClassifier:
    return jointdist.JointClassifier(random_state=seed)


def _logistic(seed: int) -> jointdist.KernelLogisticRegression:
    return jointdist.KernelLogisticRegression(random_state=seed)


_JOINT = Method(partial(joint, partial(signed, jointdist.JointDistribution)), "jointdist")
_PROJECTED = Method(partial(joint, jointdist.JointDistribution), "jointdist")
_REGRESSOR = Method(partial(joint, jointdist.DistributionRegressor), "jointdist")
_POLYNOMIAL = Method(
    partial(joint, partial(signed, jointdist.PolynomialJointDistribution)),
    "jointdist",
    limit=12_000,
)
_MANY = 20_000

METHODS: dict[str, dict[str, Method]] = {
    "univariate": {
        "JointDistribution": _JOINT,
        "JointDistribution, projected": _PROJECTED,
        "DistributionRegressor": _REGRESSOR,
        "ConditionalMeanEmbedding": Method(
            partial(joint, partial(signed, jointdist.ConditionalMeanEmbedding)),
            "jointdist",
            limit=2_000,
        ),
        "PolynomialJointDistribution": _POLYNOMIAL,
        "quantile-forest": Method(quantile_forest, "quantile-forest", limit=50_000),
        "NGBoost": Method(ngboost, "ngboost", most=_MANY),
        "xgboost-distribution": Method(xgboost_distribution, "xgboost-distribution"),
        "boosted quantiles": Method(boosted_quantiles),
        "Nystroem + ridge": Method(nystroem_ridge, most=50_000),
        "LSCDE": Method(partial(mixture, least_squares), "scipy", limit=50_000),
        "densratio": Method(density_ratio, "densratio", limit=2_000),
        "KDE, normal reference": Method(
            partial(mixture, reference_density), "statsmodels", limit=12_000
        ),
        "KDE, cv_ml": Method(partial(mixture, likely_density), "statsmodels", limit=300),
        "marginal": Method(marginal),
    },
    "joint": {
        "JointDistribution": _JOINT,
        "JointDistribution, projected": _PROJECTED,
        "DistributionRegressor": _REGRESSOR,
        "PolynomialJointDistribution": _POLYNOMIAL,
        "quantile-forest": Method(quantile_forest, "quantile-forest"),
        "quantile-forest, independent": Method(
            partial(independent, quantile_forest), "quantile-forest"
        ),
        "NGBoost": Method(ngboost, "ngboost", most=5_000),
        "xgboost-distribution, independent": Method(
            partial(independent, xgboost_distribution), "xgboost-distribution"
        ),
        "Nystroem + ridge": Method(nystroem_ridge),
        "LSCDE": Method(partial(mixture, least_squares), "scipy"),
        "KDE, normal reference": Method(
            partial(mixture, reference_density), "statsmodels", limit=12_000
        ),
        "marginal": Method(marginal_draws),
    },
    "event": {
        "JointDistribution": _JOINT,
        "JointDistribution, projected": _PROJECTED,
        "JointClassifier": Method(partial(probabilities, _labels), "jointdist"),
        "KernelLogisticRegression": Method(partial(probabilities, _logistic), "jointdist"),
        "boosted classifier": Method(partial(probabilities, _boosted)),
        "random forest": Method(partial(probabilities, _forest)),
        "Nystroem + logistic": Method(nystroem_logistic),
        "marginal": Method(marginal),
    },
    "factor": {
        "pivoted_cholesky": Method(pivots, "jointdist"),
        "fmca": Method(fmca, "fmca"),
    },
}
