"""Recorded answers of all estimators: a change that is not meant to change a number must not.

``python tests/golden.py --write`` records them anew in ``golden.json``, and ``--check``
compares strictly and tells the largest deviation of each case; names of cases may follow.
Only public names are used, so that modules may move.
"""

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import jointdist as jd
from jointdist.kernels import Delta, Gaussian, Laplace, Matern, Polynomial

FILE = Path(__file__).with_name("golden.json")
STRICT = os.environ.get("JOINTDIST_GOLDEN") == "strict"

LOOSE, TIGHT = 1e-6, 1e-9  # tolerances: other machines have other rounding
# Quantities that rounding decides on, the same on one machine only, are compared strictly or
# not at all: ranks of factors that end where only rounding is left, steps of solvers, errors
# of scores that are nearly equal in all parts, and how far a projection is from its aim (for
# polynomials by 1e-2, as which functions it aims at hangs on ties; for embeddings as weights
# on pivots that are nearly alike are not determined).
_STRICT = {"ranks", "iterations", "errors", "missed", "moved"}
# Less so: kernels that are chosen are often smooth, and their matrices nearly singular; some
# candidates are fitted in single precision; and these quantities are quotients of tiny numbers.
_COARSE = 1e-3
_ILL = re.compile(
    "joint-(auto|changed-auto|scalar-smooth)|embedding-auto|classifier|logistic|regressor"
    "|calibrated-regressor"
)
_QUOTIENTS = {"novelty", "effective_size"}
_LEAST = 1e-6  # the scale of arrays that are zero but for rounding
_MOST, _SOME = 10, 4  # entries of an array that is recorded in full, and of others
_SHARES = {"novelty", "missed", "moved", "information", "negative_share", "normalization"}
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)

# Off the steps of cdfs of equal weights, where rounding decides.
LEVELS = np.array([0.0731, 0.5113, 0.8839])
INSIDE = 0.8137


# Data sets


class Data(NamedTuple):
    """A data set: rows to fit, rows to ask, and what is recorded of the answers."""

    X: Any
    Y: Any
    x: Any
    y: Any
    numbers: bool = True  # whether Y is numeric
    smooth: bool = True  # whether Y has a density
    mixed: bool = False  # whether X has a categorical column

    @property
    def points(self) -> Any:
        """Points at which distribution functions and densities are asked."""
        return self.y[:2] + 0.01


@cache
def scalar(n: int = 90, d: int = 2) -> Data:
    """Return a scalar Y with noise that depends on X; one row to ask is far away."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n + 8, d))
    Y = np.sin(X[:, 0]) + 0.3 * X[:, -1] ** 2
    Y += 0.3 * np.exp(0.4 * X[:, 0]) * rng.normal(size=n + 8)
    x = X[n:].copy()
    x[-1] += 6.0
    return Data(X[:n], Y[:n], x, Y[n:])


@cache
def vector(n: int = 90) -> Data:
    """Return a Y of two columns."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n + 6, 2))
    noise = rng.normal(size=(n + 6, 2)) @ np.array([[0.5, 0.3], [0.0, 0.4]])
    Y = np.column_stack([np.tanh(X[:, 0]), X[:, 0] * X[:, 1] / 2]) + noise
    return Data(X[:n], Y[:n], X[n:], Y[n:])


@cache
def mixed(n: int = 90) -> Data:
    """Return an X with a column of numbers and a categorical one, and a scalar Y."""
    rng = np.random.default_rng(3)
    number, group = rng.normal(size=n + 6), rng.choice(["a", "b", "c"], size=n + 6)
    Y = number * (group == "a") + (group == "c") + 0.4 * rng.normal(size=n + 6)
    X = np.empty((n + 6, 2), dtype=object)
    X[:, 0], X[:, 1] = number, group
    return Data(X[:n], Y[:n], X[n:], Y[n:], mixed=True)


@cache
def few(n: int = 90) -> Data:
    """Return a Y that is a count."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n + 6, 2))
    Y = np.minimum(rng.poisson(np.exp(0.6 * X[:, 0])), 5).astype(float)
    return Data(X[:n], Y[:n], X[n:], Y[n:], smooth=False)


@cache
def labels(n: int = 90, classes: int = 3) -> Data:
    """Return a categorical Y."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n + 6, 2))
    code = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n + 6), [-0.4, 0.6][: classes - 1])
    Y = np.array(["low", "mid", "top"])[code]
    return Data(X[:n], Y[:n], X[n:], Y[n:], numbers=False, smooth=False)


def weights(n: int, *, whole: bool = False) -> Any:
    """Return weights of rows, some of them zero."""
    rng = np.random.default_rng(6)
    return rng.integers(0, 4, size=n).astype(float) if whole else rng.gamma(2.0, size=n)


# What is recorded


def conditional(given: Any, data: Data, *, projected: bool, brief: bool) -> dict[str, Any]:
    """Return the answers of conditional distributions of Y."""
    told: dict[str, Any] = {
        "effective_size": given.effective_size(),
        "negative_share": given.negative_share(),
        "mass": given.mass(),
        "mode": given.mode(),
        "sample": given.sample(2, random_state=0),
    }
    if data.numbers:
        told["quantile"] = given.quantile(LEVELS)
        told["cov"] = given.cov()
        told["cdf"] = given.cdf(data.points, grid=True)
    else:
        told["prob"] = given.prob(lambda y: y == "mid")
    if data.smooth:
        told["pdf"] = given.pdf(data.points, grid=True)
    if projected:
        report = given.projection()
        for name in ("missed", "moved", "information", "converged"):
            told[f"projection.{name}"] = getattr(report, name)
    if brief:
        return told
    told["weights"] = given.weights()
    told["novelty"] = given.novelty()
    if data.numbers:
        told["interval"] = given.interval(INSIDE)
        with told_warnings():  # signed ones may have none
            told["std"] = given[1:3].std()
        told["second_moment"] = given.second_moment()
        told["prob"] = given.prob(lambda y: (y > 0.1) if y.ndim == 1 else y[:, 0] > 0.1)
        told["expect"] = given.expect(np.abs)
        told["paired_cdf"] = given.cdf(data.y[: len(given)])
    if data.smooth:
        told["logpdf"] = given.logpdf(data.y[: len(given)])
    return told


def reverse(given: Any, data: Data) -> dict[str, Any]:
    """Return the answers of conditional distributions of X."""
    told: dict[str, Any] = {
        "effective_size": given.effective_size(),
        "novelty": given.novelty(),
        "mode": given.mode(),
        "sample": given.sample(2, random_state=0),
        "weights": given.weights(),
    }
    if data.mixed:
        return told | {"prob": given.prob(lambda x: x[:, 1] == "a")}
    told |= {"mean": given.mean(), "cov": given.cov(), "quantile": given.quantile(LEVELS)}
    return told | {"pdf": given.pdf(data.x[:2], grid=True)}


def size(H: Any) -> dict[str, Any]:
    """Return what coefficients are, whatever the signs of eigenvectors."""
    values = np.linalg.svd(np.asarray(H), compute_uv=False)
    return {"norm": np.linalg.norm(values), "singular": values[:2]}


def solved(model: Any) -> dict[str, Any]:
    """Return what a fit found: coefficients, ridge, kernels, ranks, selection."""
    told = prefixed("coefficients", size(model.coefficients_))
    told["regularization"] = model.regularization_
    if hasattr(model, "degrees_"):
        told["degrees"] = [*model.degrees_, *model.dropped_]
    elif hasattr(model, "kernel_x_"):
        told["kernel_x"] = repr(model.kernel_x_)
    if hasattr(model, "kernel_y_") and not hasattr(model, "degrees_"):
        told["kernel_y"] = repr(model.kernel_y_)
    bases = [getattr(model, f"basis_{side}_", None) for side in "xy"]
    told["ranks"] = [basis.rank for basis in bases if basis is not None]
    found = model.solution_
    told["solution.status"] = found.status.name
    told["solution.objective"] = found.objective
    told["solution.iterations"] = found.iterations
    if model.selection_ is not None:
        told |= prefixed("selection", selected(model.selection_))
    return told


def selected(found: Any) -> dict[str, Any]:
    """Return what was tried, and how it fared."""
    tried = found.candidates
    return {
        "criterion": found.criterion,
        "place": [found.best, found.ridge, found.rows, found.folds, len(tried)],
        "score": found.score,
        "regularization": found.regularization,
        "scores": np.concatenate([one.scores for one in tried]),
        "errors": np.concatenate([one.errors for one in tried]),
        "regularizations": tried[-1].regularizations[[0, -1]],
        "factors": np.array([(one.factor_x, one.factor_y) for one in tried]),
        "best": np.array([one.score for one in tried]),
        "scales": " ".join(dict.fromkeys(one.scales for one in tried)),
        "ranks": np.array([(one.rank_x, one.rank_y) for one in tried]),
    }


def prefixed(name: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return quantities with a prefix to their names."""
    return {f"{name}.{key}": value for key, value in told.items()}


def distributions(model: Any, data: Data, *, brief: bool = False) -> dict[str, Any]:
    """Return all that is recorded of an estimator of conditional distributions."""
    asked = data.x[[0, -1]] if brief else data.x[[0, 1, 2, -1]]
    told = {"predict": model.predict(asked), "score": model.score(data.x, data.y)}
    if hasattr(model, "solution_"):
        told |= solved(model)
    projected = getattr(model, "positivity", None) in ("projected", "isotonic")
    own = conditional(model.given(asked), data, projected=projected, brief=brief)
    return told | prefixed("given_x", own)


def joint(model: Any, data: Data, *, brief: bool = False) -> dict[str, Any]:
    """Return all that is recorded of an estimator of a joint distribution."""
    told = distributions(model, data, brief=brief)
    told["ratio"] = model.ratio(data.x[:4], data.y[:4])
    if brief:
        return told
    told["ratio_grid"] = model.ratio(data.x, data.y[:4], grid=True)
    told |= prefixed("given_y", reverse(model.given(y=data.y[:3]), data))
    if data.numbers:
        told["marginal_y"] = model.marginal("y").quantile(LEVELS)
    if not data.mixed:
        told["marginal_x"] = model.marginal("x").mean()
    found = model.dependence(permutations=19)
    names = "chi2", "mutual_information", "statistic", "p_value"
    told["dependence"] = [getattr(found, name) for name in names]
    return told


# Cases


CASES: dict[str, Callable[[], dict[str, Any]]] = {}


@contextmanager
def told_warnings() -> Iterator[None]:
    """Silence warnings that a result is less exact than was asked for, where expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def case(name: str, /, **options: Any) -> Callable[[Any], Any]:
    """Add a function of these options to the table of cases."""

    def add(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        CASES[name] = partial(function, **options)
        return function

    return add


# Rough kernels, whose matrices are well conditioned: those of smooth ones are factored until
# only rounding is left, which is not the same on other machines.
X_KERNEL, Y_KERNEL = Matern(1.3, nu=1.5), Laplace(1.0)
SMOOTH: dict[str, Any] = {"kernel_x": Gaussian(1.3), "kernel_y": Gaussian(0.7)}
GIVEN: dict[str, Any] = {
    "kernel_x": X_KERNEL,
    "kernel_y": Y_KERNEL,
    "regularization": 1e-3,
    "random_state": 0,
}


def given_kernels(
    data: Callable[[], Data],
    *,
    brief: bool = False,
    weighted: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Fit a joint distribution with kernels that are given, or chosen if "auto"."""
    rows = data()
    w = weights(len(rows.X)) if weighted else None
    model = jd.JointDistribution(**GIVEN | options).fit(rows.X, rows.Y, w)
    return joint(model, rows, brief=brief)


_POSITIVE = "projected", "isotonic", "none", "tightened", "pointwise", "rotated", "pivot"
for _positivity in (*_POSITIVE, "grid"):
    for _marginals in ("exact", "total", "free"):
        # Few functions, so that programs are fast and their solutions well determined.
        case(
            f"joint-{_positivity}-{_marginals}",
            data=partial(scalar, 60),
            positivity=_positivity,
            marginals=_marginals,
            max_rank=8,
            tol=0.0,
            brief=True,
            **SMOOTH,
        )(given_kernels)

for _pivoting in ("auto", "rp", "greedy", "random", "column"):
    case(
        f"joint-pivoting-{_pivoting}",
        data=scalar,
        pivoting=_pivoting,
        max_rank=12,
        tol=0.0,
        brief=True,
        **SMOOTH,
    )(given_kernels)

case("joint-scalar", data=scalar)(given_kernels)
case("joint-scalar-smooth", data=scalar, **SMOOTH)(given_kernels)
case("joint-isotonic", data=partial(scalar, d=1), positivity="isotonic")(given_kernels)
case("joint-scalar-none", data=scalar, positivity="none")(given_kernels)
case("joint-scalar-weighted", data=scalar, weighted=True)(given_kernels)
case("joint-vector", data=vector)(given_kernels)
case("joint-vector-none", data=vector, positivity="none", weighted=True)(given_kernels)
case("joint-few", data=few)(given_kernels)
case("joint-few-isotonic", data=few, positivity="isotonic", weighted=True, brief=True)(
    given_kernels
)
case("joint-many", data=partial(scalar, 2500), brief=True, **SMOOTH)(given_kernels)
case(
    "joint-many-isotonic",
    data=partial(scalar, 2500),
    positivity="isotonic",
    brief=True,
    **SMOOTH,
)(given_kernels)
case(
    "joint-vector-many",
    data=partial(vector, 2500),
    max_rank=20,
    tol=0.0,
    brief=True,
    **SMOOTH,
)(given_kernels)
case(
    "joint-few-many", data=partial(few, 700), tol=1e-2, weighted=True, brief=True, **SMOOTH
)(given_kernels)
case("joint-grid-rows", data=scalar, positivity="grid", grid_rows=30, max_rank=8, tol=0.0)(
    given_kernels
)
case(
    "joint-mixed",
    data=mixed,
    kernel_x=Matern(1.0, nu=0.5).on(0) * Delta(0.2).on(1),
    weighted=True,
)(given_kernels)
case("joint-labels", data=labels, kernel_y=Delta())(given_kernels)
case("joint-labels-none", data=labels, kernel_y=Delta(0.1), positivity="none")(
    given_kernels
)
case("joint-loo", data=scalar, regularization="loo")(given_kernels)
case("joint-loo-vector", data=vector, regularization="loo", max_rank=15, tol=0.0)(
    given_kernels
)
case("joint-ridge-auto", data=scalar, regularization="auto")(given_kernels)
case(
    "joint-ridges",
    data=scalar,
    regularization=np.geomspace(1e-4, 1e-2, 10),
    max_rank=10,
    tol=0.0,
)(given_kernels)

AUTO: dict[str, Any] = {"kernel_x": "auto", "kernel_y": "auto", "regularization": "auto"}
_RIDGES = np.geomspace(1e-4, 1e-1, 4).tolist()


@case("joint-auto-scalar", data=scalar)
@case("joint-auto-vector", data=vector)
@case("joint-auto-mixed", data=mixed, weighted=True)
@case("joint-auto-few", data=few)
@case("joint-auto-labels", data=labels)
@case("joint-auto-loo", data=scalar, regularization="loo", brief=True)
@case("joint-auto-common", data=scalar, selection=jd.Selection(scales="common"))
@case(
    "joint-auto-common-mixed", data=mixed, selection=jd.Selection("ratio", scales="common")
)
@case(
    "joint-auto-ridges",
    data=vector,
    selection=jd.Selection(cv=0.3, regularizations=_RIDGES),
    brief=True,
)
@case(
    "joint-auto-rows",
    data=scalar,
    selection=jd.Selection(rows=50),
    positivity="none",
    brief=True,
)
@case(
    "joint-auto-tightened",
    data=scalar,
    positivity="tightened",
    selection=jd.Selection(cv=0.3, scales="common"),
    marginals="total",
    max_rank=10,
)
@case(
    "joint-auto-rotated",
    data=scalar,
    positivity="rotated",
    selection=jd.Selection(cv=3, scales="common"),
    max_rank=10,
)
def chosen_kernels(data: Callable[[], Data], **options: Any) -> dict[str, Any]:
    """Choose the kernels."""
    return given_kernels(data, **AUTO | options)


for _criterion in (
    "ratio",
    "crps",
    "energy_score",
    "interval_score",
    "log_score",
    "second_moment_loss",
):
    case(
        f"joint-auto-{_criterion}",
        data=vector if _criterion == "second_moment_loss" else scalar,
        selection=jd.Selection(
            _criterion, cv=0.3, scales="common", regularizations=_RIDGES
        ),
        brief=True,
    )(chosen_kernels)


@case("joint-auto-function")
def own_criterion() -> dict[str, Any]:
    """Choose the kernels by a function of conditional distributions and outcomes."""

    def loss(given: Any, y: Any) -> Any:
        return (given.mean() - y) ** 2

    how = jd.Selection(loss, cv=0.3, scales="each", regularizations=_RIDGES)
    told = chosen_kernels(scalar, selection=how, brief=True)
    del told["selection.criterion"]  # the name of the function
    return told


@case("joint-changed")
def changed_rows() -> dict[str, Any]:
    """Add rows, forget some, and solve again with another ridge."""
    data, w = scalar(), weights(90)
    X, Y = data.X, data.Y
    model = jd.JointDistribution(**GIVEN | {"max_rank": 15, "tol": 0.0})
    with told_warnings():
        model.fit(X[:60], Y[:60], w[:60]).partial_fit(X[60:], Y[60:], w[60:])
        told = prefixed("added", joint(model, data, brief=True))
        model.forget(X[:10], Y[:10], w[:10])
        told |= prefixed("forgotten", joint(model, data, brief=True))
        again = model.refit(regularization=1e-2, positivity="isotonic")
        told |= prefixed("refit", joint(again, data, brief=True))
        total = model.refit(marginals="total", positivity="tightened")
        told |= prefixed("total", joint(total, data, brief=True))
    return told


@case("joint-changed-auto")
def changed_chosen() -> dict[str, Any]:
    """Add rows to a model whose kernels were chosen from the first ones."""
    data = vector()
    model = jd.JointDistribution(random_state=0, selection=jd.Selection(cv=3))
    with told_warnings():
        model.fit(data.X[:70], data.Y[:70]).partial_fit(data.X[70:], data.Y[70:])
        told = prefixed("added", distributions(model, data))
        model.forget(data.X[:5], data.Y[:5])
    return told | prefixed("forgotten", distributions(model, data, brief=True))


def polynomial(
    data: Callable[[], Data],
    *,
    brief: bool = False,
    weighted: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Fit a joint distribution with polynomials."""
    rows = data()
    w = weights(len(rows.X)) if weighted else None
    with told_warnings():
        model = jd.PolynomialJointDistribution(random_state=0, **options)
        told = joint(model.fit(rows.X, rows.Y, w), rows, brief=brief)
    if model.positivity == "sos":
        told["squares"] = model.squares(rows.x, rows.y)
    return told


for _positivity in ("projected", "isotonic", "none", "tightened", "grid", "sos"):
    for _marginals in ("total", "exact", "free"):
        if (_positivity, _marginals) == ("sos", "exact"):
            continue
        case(
            f"polynomial-{_positivity}-{_marginals}",
            data=partial(scalar, 60),
            degree=2,
            regularization=0.2,
            positivity=_positivity,
            marginals=_marginals,
            brief=True,
        )(polynomial)

case("polynomial-auto", data=scalar)(polynomial)
case("polynomial-auto-vector", data=vector, weighted=True)(polynomial)
case("polynomial-auto-sos", data=scalar, positivity="sos")(polynomial)
case(
    "polynomial-auto-few",
    data=few,
    degree=3,
    selection=jd.Selection("crps", cv=3),
)(polynomial)


@case("polynomial-changed")
def changed_polynomials() -> dict[str, Any]:
    """Add rows, forget some, and solve again."""
    data = scalar()
    model = jd.PolynomialJointDistribution(2, regularization=0.1, random_state=0)
    model.fit(data.X[:60], data.Y[:60]).partial_fit(data.X[60:], data.Y[60:])
    told = prefixed("added", joint(model, data, brief=True))
    model.forget(data.X[:10], data.Y[:10])
    told |= prefixed("forgotten", joint(model, data, brief=True))
    again = model.refit(regularization=0.5, positivity="none", marginals="exact")
    return told | prefixed("refit", joint(again, data, brief=True))


def embedding(
    data: Callable[[], Data],
    *,
    brief: bool = False,
    weighted: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Fit a conditional mean embedding."""
    rows = data()
    w = weights(len(rows.X)) if weighted else None
    model = jd.ConditionalMeanEmbedding(**GIVEN | options)
    with told_warnings():
        return distributions(model.fit(rows.X, rows.Y, w), rows, brief=brief)


for _positivity in ("projected", "isotonic", "none", "average", "sample"):
    for _normalization in ("none", "average"):
        case(
            f"embedding-{_positivity}-{_normalization}",
            data=partial(scalar, 60),
            positivity=_positivity,
            normalization=_normalization,
            max_rank=8,
            tol=0.0,
            brief=True,
            **SMOOTH,
        )(embedding)
    if _positivity in ("projected", "isotonic", "none"):
        case(
            f"embedding-full-{_positivity}",
            data=partial(scalar, 60),
            positivity=_positivity,
            low_rank=False,
        )(embedding)


@case("embedding-sample")
def normalised_embedding() -> dict[str, Any]:
    """Ask for mass one at each row, which needs a constant function of X."""
    data = labels()
    X = (data.X[:, :1] > 0).astype(float)  # two values: the indicators are two functions
    model = jd.ConditionalMeanEmbedding(
        Delta(),
        Delta(),
        regularization=1e-2,
        normalization="sample",
        positivity="sample",
        random_state=0,
    ).fit(X, data.Y)
    asked = model.given([[0.0], [1.0]])
    told = conditional(asked, data, projected=False, brief=True) | solved(model)
    return told | {"prob_low": asked.prob(lambda y: y == "low")}


case("embedding-scalar", data=scalar)(embedding)
case("embedding-scalar-weighted", data=scalar, weighted=True, positivity="none")(embedding)
case("embedding-vector", data=vector)(embedding)
case("embedding-few", data=few, positivity="isotonic")(embedding)
case("embedding-full-weighted", data=vector, weighted=True, low_rank=False)(embedding)
case("embedding-rp", data=scalar, pivoting="rp", max_rank=20, tol=0.0)(embedding)
case("embedding-many", data=partial(scalar, 700), tol=1e-2, brief=True, **SMOOTH)(embedding)
case("embedding-auto", data=scalar, **AUTO)(embedding)
case(
    "embedding-auto-none",
    data=vector,
    positivity="none",
    selection=jd.Selection(cv=3),
    **AUTO,
)(embedding)
case(
    "embedding-auto-full",
    data=mixed,
    low_rank=False,
    selection=jd.Selection(regularizations=_RIDGES),
    **AUTO,
)(embedding)
case("embedding-auto-labels", data=labels, weighted=True, **AUTO)(embedding)
case(
    "embedding-auto-crps",
    data=scalar,
    selection=jd.Selection("crps", cv=0.3, scales="common", regularizations=_RIDGES),
    brief=True,
    **AUTO,
)(embedding)


@case("embedding-changed")
def changed_embedding() -> dict[str, Any]:
    """Add rows, forget some, and solve again."""
    data = scalar()
    model = jd.ConditionalMeanEmbedding(**GIVEN | {"max_rank": 12, "tol": 0.0})
    with told_warnings():
        model.fit(data.X[:60], data.Y[:60]).partial_fit(data.X[60:], data.Y[60:])
        told = prefixed("added", distributions(model, data, brief=True))
        model.forget(data.X[:10], data.Y[:10])
        told |= prefixed("forgotten", distributions(model, data, brief=True))
        again = model.refit(regularization=1e-2, positivity="average")
    return told | prefixed("refit", distributions(again, data, brief=True))


def probabilities(model: Any, data: Data) -> dict[str, Any]:
    """Return all that is recorded of a classifier."""
    told = solved(model) | {
        "classes": model.classes_,
        "predict": model.predict(data.x),
        "predict_proba": model.predict_proba(data.x),
        "score": model.score(data.x, data.y),
    }
    if hasattr(model, "given"):
        given = model.given(data.x[:3])
        told |= prefixed("given_x", conditional(given, data, projected=False, brief=True))
        told |= prefixed("given_y", reverse(model.given(y=["mid", "low"]), data))
    else:
        told["decision_function"] = model.decision_function(data.x)
        told["intercept"] = model.intercept_
        told["log_proba"] = model.predict_log_proba(data.x)
    return told


@case("classifier", kernel_x=X_KERNEL, regularization=1e-3)
@case("classifier-auto", weighted=True)
@case("classifier-two", classes=2)
@case("classifier-balanced", kernel_x=X_KERNEL, class_weight="balanced")
@case(
    "classifier-grid",
    kernel_x=X_KERNEL,
    regularization=1e-3,
    positivity="grid",
    marginals="total",
    max_rank=8,
    tol=0.0,
)
@case("classifier-log", selection=jd.Selection("log_score", cv=3, scales="common"))
def classifier(
    *, classes: int = 3, weighted: bool = False, **options: Any
) -> dict[str, Any]:
    """Fit the joint distribution of X and labels."""
    data = labels(classes=classes)
    w = weights(len(data.X), whole=True) if weighted else None
    model = jd.JointClassifier(random_state=0, **options).fit(data.X, data.Y, w)
    return probabilities(model, data)


@case("classifier-changed")
def changed_classifier() -> dict[str, Any]:
    """Add rows to a classifier."""
    data = labels()
    model = jd.JointClassifier(X_KERNEL, regularization=1e-3, max_rank=15, tol=0.0)
    with told_warnings():
        model.set_params(random_state=0).fit(data.X[:60], data.Y[:60])
        model.partial_fit(data.X[60:], data.Y[60:])
    return probabilities(model, data)


@case("logistic", kernel_x=X_KERNEL, regularization=0.1)
@case("logistic-two", classes=2, kernel_x=X_KERNEL, regularization=0.1, weighted=True)
@case("logistic-no-intercept", kernel_x=Laplace(2.0), fit_intercept=False)
@case(
    "logistic-float32",
    kernel_x=Polynomial(2, 1.0),
    regularization=0.1,
    precision="float32",
    class_weight={"low": 2.0},
)
@case("logistic-auto")
@case("logistic-auto-two", classes=2, class_weight="balanced")
@case("logistic-energy", selection=jd.Selection("energy", cv=3, scales="common"))
def logistic(*, classes: int = 3, weighted: bool = False, **options: Any) -> dict[str, Any]:
    """Fit kernel logistic regression."""
    data = labels(classes=classes)
    w = weights(len(data.X), whole=True) if weighted else None
    model = jd.KernelLogisticRegression(random_state=0, **options)
    return probabilities(model.fit(data.X, data.Y, w), data)


@case("logistic-path")
def logistic_path() -> dict[str, Any]:
    """Fit kernel logistic regression for several ridges."""
    data = labels(classes=2)
    model = jd.KernelLogisticRegression(X_KERNEL, random_state=0)
    models = model.path(data.X, data.Y, [0.1, 10.0, 1.0])
    return {"probabilities": [one.predict_proba(data.x)[:, 1] for one in models]}


def regressor_named(name: str) -> Any:
    """Return regressors of scikit-learn, which is imported when needed."""
    from sklearn.linear_model import Ridge  # noqa: PLC0415
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    known = {"ridge": Ridge(), "several": ["kernel", Ridge(2.0), DecisionTreeRegressor()]}
    return known.get(name, name)


@case("regressor-kernel", data=scalar, regressor="kernel")
@case("regressor-auto", data=scalar, regressor="auto")
@case("regressor-ridge", data=scalar, regressor="ridge", weighted=True)
@case("regressor-several", data=scalar, regressor="several")
@case("regressor-vector", data=vector, regressor="kernel", weighted=True)
@case("regressor-mixed", data=mixed, regressor="kernel")
@case("regressor-few", data=few, regressor="kernel")
@case("regressor-labels", data=labels, regressor="kernel")
@case("regressor-constant", data=scalar, regressor="kernel", scale=False)
@case("regressor-given", data=vector, regressor="kernel", kernel_x=Gaussian(2.0))
@case("regressor-splits", data=scalar, regressor="kernel", cv="splits")
def regressor(
    data: Callable[[], Data], regressor: str, *, weighted: bool = False, **options: Any
) -> dict[str, Any]:
    """Fit location, scale and residuals."""
    rows = data()
    w = weights(len(rows.X)) if weighted else None
    if "cv" in options:
        parts = np.arange(len(rows.X)) % 3
        splits = [
            (np.flatnonzero(parts != k), np.flatnonzero(parts == k)) for k in range(3)
        ]
        options["cv"] = splits
    model = jd.DistributionRegressor(regressor_named(regressor), random_state=0, **options)
    told = distributions(model.fit(rows.X, rows.Y, w), rows)
    if not model.direct_:
        told["shares"] = model.regressor_weights_
        told["kernel_x"] = repr(model.kernel_x_)
    return told


@case("regressor-residuals")
def regressor_of_given() -> dict[str, Any]:
    """Fit with an estimator of the distribution of residuals that is given."""
    data = scalar()
    own = jd.JointDistribution(**GIVEN | {"positivity": "isotonic"})
    model = jd.DistributionRegressor("kernel", True, own, random_state=0)
    return distributions(model.fit(data.X, data.Y), data)


CALIBRATED: dict[str, Callable[[], Any]] = {
    "joint": lambda: jd.JointDistribution(**GIVEN),
    "signed": lambda: jd.JointDistribution(**GIVEN | {"positivity": "none"}),
    "embedding": lambda: jd.ConditionalMeanEmbedding(**GIVEN),
    "polynomial": lambda: jd.PolynomialJointDistribution(2, regularization=0.1),
    "regressor": lambda: jd.DistributionRegressor("kernel", random_state=0),
}


@case("calibrated-joint", name="joint", data=scalar)
@case("calibrated-joint-weighted", name="joint", data=scalar, weighted=True)
@case("calibrated-joint-few", name="joint", data=few)
@case("calibrated-signed", name="signed", data=scalar)
@case("calibrated-embedding", name="embedding", data=scalar)
@case("calibrated-polynomial", name="polynomial", data=scalar)
@case("calibrated-regressor", name="regressor", data=scalar)
def calibrated(
    name: str, data: Callable[[], Data], *, weighted: bool = False
) -> dict[str, Any]:
    """Calibrate an estimator on rows held back."""
    rows = data()
    w = weights(len(rows.X), whole=True) if weighted else None
    model = jd.ConformalCalibration(CALIBRATED[name](), share=0.3, random_state=0)
    told = distributions(model.fit(rows.X, rows.Y, w), rows)
    return told | {"levels": model.recalibration_.levels}


@case("scores-scalar", data=scalar)
@case("scores-scalar-signed", data=scalar, positivity="none")
@case("scores-few", data=few)
def scores_of_numbers(data: Callable[[], Data], **options: Any) -> dict[str, Any]:
    """Score conditional distributions of one column."""
    rows, scores = data(), jd.scores
    model = jd.JointDistribution(**GIVEN | options).fit(rows.X, rows.Y)
    given, y = model.given(rows.x), rows.y

    def event(z: Any) -> Any:
        return z > 0.3

    truth = np.abs(y) + 0.5
    curve = scores.reliability_curve(given, y, LEVELS)
    return {
        "crps": scores.crps(given, y),
        "energy": scores.energy_score(given, y),
        "pinball": scores.pinball_loss(given, y, LEVELS),
        "interval": scores.interval_score(given, y, INSIDE),
        "log": scores.log_score(given, y, floor=1e-6),
        "brier": scores.brier_score(given, y, event),
        "logistic": scores.logistic_loss(given, y, event, eta=1e-3),
        "second_moment": scores.second_moment_loss(given, truth),
        "pit": scores.pit(given, y, random_state=0),
        "coverage": scores.coverage(given, y, INSIDE),
        "width": scores.width(given, INSIDE),
        "reliability": curve.observed,
        "indefinite": scores.indefinite_share(given),
        "negative_probability": scores.negative_probability_share(given, event),
        "negative_ratio": scores.negative_ratio_share(given),
        "normalization": scores.normalization_error(given),
        "scorers": [
            scores.neg_crps(model, rows.x, y),
            scores.neg_energy_score(model, rows.x, y),
            scores.neg_interval_score(model, rows.x, y),
        ],
    }


@case("scores-vector")
def scores_of_vectors() -> dict[str, Any]:
    """Score conditional distributions of two columns."""
    data, scores = vector(), jd.scores
    model = jd.JointDistribution(**GIVEN | {"positivity": "none"}).fit(data.X, data.Y)
    given, y = model.given(data.x), data.y
    truth = y[:, :, None] * y[:, None, :] + np.eye(2)
    return {
        "energy": scores.energy_score(given, y),
        "energy_units": scores.energy_score(given, y, units=[1.0, 2.0]),
        "log": scores.log_score(given, y, floor=1e-6),
        "second_moment": scores.second_moment_loss(given, truth),
        "indefinite": scores.indefinite_share(given),
        "negative_ratio": scores.negative_ratio_share(given),
    }


@case("scores-labels")
def scores_of_labels() -> dict[str, Any]:
    """Score conditional distributions of a categorical Y, and unnormalised ones."""
    data, scores = labels(), jd.scores
    model = jd.JointDistribution(**GIVEN | {"kernel_y": Delta()}).fit(data.X, data.Y)
    given, y = model.given(data.x), data.y
    own = {"kernel_y": Delta(), "positivity": "none"}
    other = jd.ConditionalMeanEmbedding(**GIVEN | own).fit(data.X, data.Y).given(data.x)
    return {
        "energy": scores.energy_score(given, y),
        "log": scores.log_score(given, y),
        "brier": scores.brier_score(given, y, lambda z: z == "top"),
        "embedding.energy": scores.energy_score(other, y),
        "embedding.normalization": scores.normalization_error(other),
    }


KERNELS: dict[str, Any] = {
    "gaussian": Gaussian((1.0, 2.0)),
    "laplace": Laplace(1.5),
    "matern12": Matern(1.5, nu=0.5),
    "matern32": Matern(1.5, nu=1.5),
    "matern52": Matern(1.5, nu=2.5),
    "polynomial": Polynomial(3, 0.5, 2.0),
    "sum": Gaussian(1.0).on(0) + Laplace(2.0).on(1),
    "product": Gaussian(1.0).on(0) * Matern(2.0).on(1),
    "delta": Delta(0.3),
}


@case("kernels")
def kernel_matrices() -> dict[str, Any]:
    """Evaluate kernels."""
    X = scalar().X[:4].copy()
    X[3] = X[0]
    told: dict[str, Any] = {}
    for name, kernel in KERNELS.items():
        told |= {name: kernel(X, X[:3]), f"{name}.diagonal": kernel.diagonal(X)}
        told[f"{name}.repr"] = repr(kernel)
    return told


@case("cholesky")
def factors() -> dict[str, Any]:
    """Factor kernel matrices by all rules of choosing pivots."""
    X, told = scalar(300).X, {}
    for rule in ("auto", "rp", "greedy", "random", "column"):
        for name, w in (("", None), ("-weighted", weights(len(X)))):
            low = jd.pivoted_cholesky(
                X_KERNEL, X, tol=1e-2, pivoting=rule, sample_weight=w, random_state=0
            )
            own = {
                "pivots": low.pivots,
                "trace": [low.trace, low.error, low.relative_error],
                "factor": low.factor,
                "biorthogonal": low.biorthogonal,
                "features": low.features(X[:3] + 0.1),
            }
            told |= prefixed(f"{rule}{name}", own)
    return told


# Recording and comparing


def recorded(value: Any) -> Any:
    """Return a value as it is written: large arrays as some entries, sum and norm."""
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return array.astype(object).tolist()
    if array.dtype.kind == "b":
        array = array.astype(int)
    if array.size <= _MOST:
        return array.tolist()
    flat = array.ravel().astype(float)
    step = len(flat) / _SOME
    places = (step * (np.arange(_SOME) + 0.5)).astype(int)
    return {
        "shape": list(array.shape),
        "some": flat[places].tolist(),
        "sum": float(flat.sum()),
        "norm": float(np.linalg.norm(flat)),
    }


def answers(name: str) -> dict[str, Any]:
    """Return what a case gives, as it is written."""
    return {key: recorded(value) for key, value in CASES[name]().items()}


def deviation(now: Any, then: Any, scale: float = _LEAST) -> float:
    """Return the largest difference of two recorded values, relative to the largest entry.

    Or to a scale, if entries are tiny. Infinite if shapes or texts differ.
    """
    if isinstance(then, dict) and isinstance(now, dict) and now["shape"] == then["shape"]:
        norm = max(then["norm"], scale)
        totals = [abs(now[key] - then[key]) / norm for key in ("sum", "norm")]
        return max(deviation(now["some"], then["some"], scale), *totals)
    a, b = np.asarray(now), np.asarray(then)
    if a.shape != b.shape or "O" in (a.dtype.kind + b.dtype.kind):
        return np.inf
    if "U" in (a.dtype.kind + b.dtype.kind):
        return max(map(_texts_apart, map(str, a.ravel()), map(str, b.ravel())), default=0)
    known = np.isfinite(b)
    same = np.array_equal(np.where(known, 0, a), np.where(known, 0, b), equal_nan=True)
    if not (same and np.isfinite(a[known]).all()):
        return np.inf
    largest = max(float(np.abs(b[known]).max(initial=0.0)), scale)
    return float(np.abs(a[known] - b[known]).max(initial=0.0) / largest)


def _texts_apart(now: str, then: str) -> float:
    """Return the largest difference of numbers in two texts, that must else be equal."""
    if _NUMBER.split(now) != _NUMBER.split(then):
        return np.inf
    pairs = zip(_NUMBER.findall(now), _NUMBER.findall(then), strict=True)
    return max((deviation(float(a), float(b)) for a, b in pairs), default=0.0)


def deviations(name: str) -> dict[str, float]:
    """Return the deviations of all quantities of a case from those recorded."""
    now, then = answers(name), known()[name]
    if now.keys() != then.keys():
        return dict.fromkeys(sorted(now.keys() ^ then.keys()), np.inf)
    return {
        key: deviation(now[key], then[key], 1.0 if _last(key) in _SHARES else _LEAST)
        for key in then
    }


def tolerance(name: str, key: str, *, strict: bool) -> float:
    """Return the deviation that a quantity of a case may have."""
    if strict:
        return TIGHT
    if _last(key) in _STRICT:
        return np.inf
    return _COARSE if _ILL.match(name) or _last(key) in _QUOTIENTS else LOOSE


def misses(name: str, *, strict: bool) -> dict[str, float]:
    """Return the deviations of a case that are too large."""
    found = deviations(name)
    return {
        key: value
        for key, value in found.items()
        if not value <= tolerance(name, key, strict=strict)
    }


def _last(key: str) -> str:
    return key.rpartition(".")[2]


@cache
def known() -> dict[str, dict[str, Any]]:
    """Return the recorded answers of all cases."""
    return json.loads(FILE.read_text())


def write(names: list[str]) -> None:
    """Record the answers of cases, a line for each quantity."""
    own = dict(known()) if FILE.exists() and set(names) != set(CASES) else {}
    own |= {name: answers(name) for name in names}
    lines = []
    for name in sorted(own.keys() & CASES.keys()):
        told = own[name]
        inner = ",\n".join(f'"{key}":{_json(told[key])}' for key in sorted(told))
        lines.append(f'"{name}":{{\n{inner}\n}}')
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def check(names: list[str]) -> bool:
    """Compare strictly, and tell the largest deviation of each case."""
    good = True
    for name in names:
        start = process_time()
        found = deviations(name)
        worst = max(found, key=lambda key: found[key])
        ok = found[worst] <= TIGHT
        good &= ok
        told = f"{'ok ' if ok else 'BAD'} {name:36} {found[worst]:8.1e}  {worst}"
        sys.stdout.write(f"{told}  ({process_time() - start:.2f} s)\n")
    return good


if __name__ == "__main__":
    chosen = sys.argv[2:] or list(CASES)
    if sys.argv[1:2] == ["--write"]:
        write(chosen)
    elif sys.argv[1:2] == ["--check"]:
        sys.exit(not check(chosen))
    else:
        sys.exit(__doc__)
