"""Pictures: each draws what it says, on the axes it is given."""

import sys
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from jointdist import (
    ConditionalMeanEmbedding,
    JointDistribution,
    KernelLogisticRegression,
    PolynomialJointDistribution,
    kernels,
    pivoted_cholesky,
    plots,
)
from jointdist.errors import JointdistError, SignedDistributionWarning

mpl.use("Agg")

N = 600
GAUSSIAN, DELTA = kernels.Gaussian(1.0), kernels.Delta()
TABLE = GAUSSIAN.on(0, 1) * DELTA.on(2)  # of two numeric columns and a categorical one


@pytest.fixture(autouse=True)
def _closed():
    """Close the figures of a test."""
    yield
    plt.close("all")


def rows(n=N, seed=0):
    """Return X with a categorical column, and Y that depends on it."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-2, 2, n), rng.exponential(1.0, n)
    tree = rng.choice(["ash", "birch", "cedar"], n, p=[0.2, 0.5, 0.3])
    y = np.sin(x) + 0.3 * z + (tree == "ash") + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "tree": tree}), pd.Series(y, name="height")


def fitted(X, Y, kernel_x=GAUSSIAN, kernel_y=GAUSSIAN, **kwargs):
    """Return a model that has nothing to choose and, by default, does not project."""
    how = {"regularization": 1e-3, "tol": 1e-2, "random_state": 0, "positivity": "none"}
    how |= kwargs
    return JointDistribution(kernel_x, kernel_y, **how).fit(X, Y)


@pytest.fixture(scope="module")
def mixed():
    """Return a model of a table with a categorical column, with the sample."""
    X, y = rows()
    return SimpleNamespace(X=X, y=y, model=fitted(X, y, TABLE))


@pytest.fixture(scope="module")
def plain():
    """Return a model of one column on either side, with the sample."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 1))
    y = x[:, 0] + 0.5 * rng.normal(size=400)
    return SimpleNamespace(X=x, y=y, model=fitted(x, y, positivity="projected"))


@dataclass
class Candidate:
    """A pair of kernels that a search has tried."""

    factor_x: float
    factor_y: float
    scores: np.ndarray
    errors: np.ndarray
    scales: str = "common"
    regularizations: np.ndarray = field(default_factory=lambda: 10.0 ** np.arange(-4, 1))
    folds: int | None = None


@dataclass
class Selection:
    """What a search has found."""

    candidates: list
    best: int = 1
    regularization: float = 1e-3
    criterion: str = "CRPS"


def selection():
    """Return the record of a search over three pairs of kernels; one failed in part."""
    errors = np.array([0.1, 0.1, 0.2, 0.2, np.nan])
    tried = [
        (0.5, 1.0, [4.0, 3.0, 2.0, 3.0, 4.0]),
        (1.0, 2.0, [3.0, 1.0, 2.0, 2.5, 4.0]),
        (2.0, 2.0, [np.nan, 1e9, 5.0, 3.5, 4.0]),
    ]
    return Selection([Candidate(a, b, np.array(s), errors) for a, b, s in tried])


def every_picture(case):
    """Return all pictures, as functions of axes."""
    dist, model = case.model.given(case.X), case.model
    low = pivoted_cholesky(kernels.Gaussian(1.0), case.X, random_state=0)
    return {
        "pit_histogram": lambda ax: plots.pit_histogram(dist, case.y, ax=ax),
        "reliability": lambda ax: plots.reliability(dist, case.y, ax=ax),
        "ridge_path": lambda ax: plots.ridge_path(selection(), ax=ax),
        "scale_map": lambda ax: plots.scale_map(selection(), ax=ax),
        "eigenvalues": lambda ax: plots.eigenvalues(model, ax=ax),
        "trace_error": lambda ax: plots.trace_error(low, ax=ax),
        "fan": lambda ax: plots.fan(model, case.X, ax=ax),
        "density_map": lambda ax: plots.density_map(model, case.X, ax=ax),
        "ratio_map": lambda ax: plots.ratio_map(model, case.X, case.y, ax=ax),
    }


@pytest.mark.parametrize("name", plots.__all__)
def test_axes_given_are_drawn_on_and_returned(plain, name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
    draw = every_picture(plain)[name]
    style = mpl.rcParams.copy()
    figure, (ax, other) = plt.subplots(1, 2)
    before = plt.get_fignums()
    assert draw(ax) is ax
    assert plt.get_fignums() == before
    assert not other.has_data()
    assert ax.has_data()
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert mpl.rcParams == style
    figure.canvas.draw()  # without a warning


@pytest.mark.parametrize("name", plots.__all__)
def test_without_axes_there_is_a_new_figure(plain, name):
    before = plt.figure().number
    ax = every_picture(plain)[name](None)
    assert ax.figure.number != before
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("name", plots.__all__)
def test_who_lacks_matplotlib_is_told(plain, name, monkeypatch):
    draw = every_picture(plain)[name]
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(JointdistError, match=rf"^{name}: matplotlib is not installed"):
        draw(None)


def vertices(ax, which):
    """Return the ends of a band: its points, lower and upper values."""
    points = ax.collections[which].get_paths()[0].vertices
    k = (len(points) - 3) // 2
    lower, upper = points[1 : 1 + k], points[2 + k : 2 + 2 * k][::-1]
    assert_allclose(lower[:, 0], upper[:, 0])
    return lower[:, 0], lower[:, 1], upper[:, 1]


def cdf_by_hand(dist, y):
    return np.sum(
        dist.weights() * (dist.support_points() <= np.asarray(y)[:, None]), axis=1
    )


@pytest.mark.parametrize("bins", [5, 10])
def test_bars_are_shares_of_the_values_of_cdfs(mixed, bins):
    X, y = rows(300, seed=7)
    dist = mixed.model.given(X)
    ax = plots.pit_histogram(dist, y, bins=bins)
    found = cdf_by_hand(dist, y)
    places = np.clip((found * bins).astype(int), 0, bins - 1)
    shares = np.bincount(places, minlength=bins) / 300
    assert_allclose([bar.get_height() for bar in ax.containers[0]], shares * bins)
    assert_allclose([bar.get_x() for bar in ax.containers[0]], np.arange(bins) / bins)


def test_the_band_of_bars_is_what_chance_gives(mixed):
    X, y = rows(300, seed=7)
    ax = plots.pit_histogram(mixed.model.given(X), y, bins=8)
    span = ax.patches[-1]
    low, high = np.array([span.get_y(), span.get_y() + span.get_height()]) * 300 / 8
    chance = binom(300, 1 / 8)
    assert chance.cdf(high) - chance.cdf(low - 1) >= 0.95
    assert chance.cdf(high - 1) < 0.975 <= chance.cdf(high)
    assert chance.cdf(low - 1) < 0.025 <= chance.cdf(low)
    assert [line.get_ydata()[0] for line in ax.get_lines()] == [1]


def test_values_of_signed_distributions_beyond_the_ends_are_in_the_outer_bars(plain):
    signed = fitted(plain.X, plain.y, regularization=1e-6, positivity="none")
    dist, points = signed.given([0.0, 0.0]), np.linspace(-4, 4, 500)
    cdf = dist[0].cdf(points, grid=True)[0]
    assert cdf.min() < -1e-4
    assert cdf.max() > 1 + 1e-4
    ends = points[[cdf.argmin(), cdf.argmax()]]
    bars = plots.pit_histogram(dist, ends, bins=4).containers[0]
    assert_allclose([bar.get_height() for bar in bars], [2, 0, 0, 2])


def test_distributions_that_do_not_exist_are_in_no_bar(plain):
    embedding = ConditionalMeanEmbedding(
        GAUSSIAN, GAUSSIAN, regularization=1e-3, positivity="none"
    )
    dist = embedding.fit(plain.X, plain.y).given([0.0, 1e9])
    with pytest.warns(SignedDistributionWarning):
        ax = plots.pit_histogram(dist, [9.0, 0.0], bins=8)
    assert_allclose([bar.get_height() for bar in ax.containers[0]], [0] * 7 + [8])
    assert ax.patches[-1].get_height() == 8  # the band of a single outcome


def test_bars_of_right_discrete_distributions_are_flat():
    rng = np.random.default_rng(0)
    y = rng.poisson(1.0, 4000).astype(float)
    dist = fitted(y[:, None], y).marginal("y")
    outcomes = rng.poisson(1.0, 4000)
    bars = plots.pit_histogram(dist[[0] * 4000], outcomes).containers[0]
    assert_allclose([bar.get_height() for bar in bars], 1, atol=0.2)


def test_reliability_is_how_often_outcomes_are_up_to_quantiles(mixed):
    X, y = rows(200, seed=7)
    dist = mixed.model.given(X)
    ax = plots.reliability(dist, y, levels=[0.1, 0.5, 0.8])
    levels, observed = ax.get_lines()[-1].get_data()
    assert_array_equal(levels, [0.1, 0.5, 0.8])
    expected = [np.mean(cdf_by_hand(dist, y) <= level) for level in levels]
    assert_allclose(observed, expected, atol=2 / 200)
    p, low, high = vertices(ax, 0)
    assert_array_equal(ax.get_lines()[0].get_xydata(), [[0, 0], [1, 1]])
    assert_allclose(binom.ppf(0.025, 200, p) / 200, low)
    assert_allclose(binom.ppf(0.975, 200, p) / 200, high)


def test_ridge_paths_are_scores_and_the_choice_is_marked():
    found = selection()
    ax = plots.ridge_path(SimpleNamespace(selection_=found))
    first, last, best, ring = ax.get_lines()
    for line, candidate in ((first, 0), (last, 2), (best, 1)):
        assert_array_equal(line.get_xdata(), found.candidates[candidate].regularizations)
        assert_array_equal(line.get_ydata(), found.candidates[candidate].scores)
    assert_allclose(np.ravel(ring.get_data()), [1e-3, 1.0])
    x, low, high = vertices(ax, 0)
    assert_allclose(x, 10.0 ** np.arange(-4, 0))
    assert_allclose(low, [2.9, 0.9, 1.8, 2.3])
    assert_allclose(high, [3.1, 1.1, 2.2, 2.7])
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "CRPS, on held-out rows"
    assert ax.get_ylim()[0] < 0.9  # nothing of the chosen line is cut off
    assert 4 < ax.get_ylim()[1] < 6  # but what is far off


def test_what_a_model_chose_is_what_is_marked(plain):
    model = JointDistribution(random_state=0).fit(plain.X, plain.y)
    ring = plots.ridge_path(model).get_lines()[-1]
    found = model.selection_
    assert_allclose(np.ravel(ring.get_data()), [model.regularization_, found.score])
    ax = plots.scale_map(found)
    best = found.candidates[found.best]
    ring = ax.get_lines()[-1]
    assert_array_equal(np.ravel(ring.get_data()), [best.factor_x, best.factor_y])
    assert len(ax.collections[0].get_offsets()) > 4
    model = JointDistribution(GAUSSIAN, GAUSSIAN, regularization=1.0)
    with pytest.raises(
        ValueError, match=r"^ridge_path: `source` must be a fitted model that"
    ):
        plots.ridge_path(model.fit(plain.X, plain.y))


def test_scores_that_are_far_off_are_cut_off():
    found = selection()
    found.candidates[1].scores[0] = 1e9
    low, high = plots.ridge_path(found).get_ylim()
    assert low < 0.9
    assert 4 < high < 10


def test_scores_on_other_folds_are_not_drawn():
    found = selection()
    before = len(plots.ridge_path(found).get_lines())
    other = replace(found.candidates[0], scores=np.zeros(5), folds=1)
    found.candidates.append(other)
    assert len(plots.ridge_path(found).get_lines()) == before
    points = plots.scale_map(found).collections[0].get_offsets()
    assert len(points) == len(found.candidates) - 1


def test_a_search_without_errors_over_folds_has_no_band():
    found = selection()
    only = Candidate(1.0, 1.0, np.ones(5), np.full(5, np.nan))
    ax = plots.ridge_path(Selection([only], best=0))
    assert not ax.collections
    assert len(ax.get_lines()) == 2
    found.candidates[0].scores[:] = np.nan
    assert len(plots.ridge_path(found).get_lines()) == 4


def test_a_ridge_of_zero_is_on_the_axis():
    ridges = np.array([0.0, 1e-3, 1e-2])
    only = Candidate(
        1.0, 1.0, np.array([1.0, 2.0, 3.0]), np.zeros(3), regularizations=ridges
    )
    ax = plots.ridge_path(Selection([only], best=0, regularization=0.0))
    assert_array_equal(np.ravel(ax.get_lines()[-1].get_data()), [0, 1])
    assert ax.get_xscale() == "symlog"
    assert ax.get_xlim()[0] < 0


def test_scales_are_points_with_the_best_score_of_each():
    found = selection()
    none = np.full(5, np.nan)
    found.candidates.append(Candidate(4.0, 4.0, none, none))
    found.candidates.append(Candidate(1.0, 2.0, np.ones(5), none, scales="each"))
    ax = plots.scale_map(found)
    points = ax.collections[0]
    assert_array_equal(points.get_offsets()[:3], [[0.5, 1], [1, 2], [2, 2]])
    assert_array_equal(np.ma.filled(points.get_array(), np.nan), [2.0, 1.0, 3.5, np.nan])
    assert_array_equal(np.ravel(ax.get_lines()[0].get_data()), [1, 2])
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_eigenvalues_are_those_of_the_centred_kernel_matrix(plain):
    model = plain.model  # of so few rows that factors are exact
    ax = plots.eigenvalues(model)
    H = np.eye(400) - 1 / 400
    sides = (model.kernel_x_, plain.X), (model.kernel_y_, plain.y[:, None])
    for line, (kernel, z) in zip(ax.get_lines(), sides, strict=True):
        expected = np.linalg.eigvalsh(H @ kernel(z, z) @ H)[::-1] / 400
        numbers, values = line.get_data()
        assert_array_equal(numbers, 1 + np.arange(len(values)))
        assert_allclose(values[:15], expected[:15], rtol=1e-6)
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told[0].startswith(f"X: rank {model.basis_x_.rank}, misses ")
    assert ax.get_yscale() == "log"


def remainders(K, pivots, weights):
    """Return the share of the trace that is left after each pivot."""
    left = []
    for m in range(len(pivots) + 1):
        P = pivots[:m]
        rest = K - K[:, P] @ np.linalg.solve(K[np.ix_(P, P)], K[P]) if m else K
        left.append(weights @ np.diag(rest))
    return np.array(left) / left[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_trace_errors_are_those_after_each_pivot(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    weights = rng.uniform(size=300) if weighted else None
    kernel = kernels.Gaussian(1.5)
    low = pivoted_cholesky(kernel, X, tol=1e-2, sample_weight=weights, random_state=0)
    ax = plots.trace_error(low, sample_weight=weights)
    pivots, errors = ax.get_lines()[0].get_data()
    assert_array_equal(pivots, np.arange(low.rank + 1))
    w = np.ones(300) if weights is None else weights
    assert_allclose(errors, remainders(kernel(X, X), low.pivots, w), rtol=1e-8)
    assert_allclose(errors[-1], low.relative_error)
    assert ax.get_legend() is None


def test_trace_errors_of_a_model_are_those_of_both_sides(mixed):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    model = fitted(X, X.sum(axis=1))
    ax = plots.trace_error(model)
    sides = (
        (model.kernel_x_, X, model.basis_x_),
        (
            model.kernel_y_,
            X.sum(axis=1)[:, None],
            model.basis_y_,
        ),
    )
    for line, (kernel, z, basis) in zip(ax.get_lines(), sides, strict=True):
        expected = remainders(kernel(z, z), basis.pivots, np.ones(600))
        assert_allclose(line.get_ydata(), expected, rtol=1e-7)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["X", "Y"]
    assert len(plots.trace_error(mixed.model).get_lines()) == 2


def held_rows(X, column, values, **at):
    """Return rows at medians and most frequent categories, but for one column."""
    base = {"x": X["x"].median(), "z": X["z"].median(), "tree": "birch"} | at
    table = pd.DataFrame([base] * len(values))
    table[column] = values
    return table


@pytest.mark.parametrize("column", ["x", 1])
@pytest.mark.parametrize("at", [None, [1.0, 2.0, "ash"]], ids=["medians", "given"])
def test_fans_are_quantiles_along_a_column(mixed, column, at):
    ax = plots.fan(mixed.model, mixed.X, column=column, at=at)
    name = "x" if column == "x" else "z"
    values, *_ = vertices(ax, 0)
    low, high = np.quantile(mixed.X[name], [0.005, 0.995])
    assert_allclose(values[[0, -1]], [low, high])
    given = {} if at is None else dict(zip(mixed.X.columns, at, strict=True))
    dist = mixed.model.given(held_rows(mixed.X, name, values, **given))
    for band, ends in ((0, [0.05, 0.95]), (1, [0.25, 0.75])):
        assert_allclose(np.transpose(vertices(ax, band)[1:]), dist.quantile(ends))
    assert_allclose(ax.get_lines()[0].get_data(), [values, dist.median()])
    assert (ax.get_xlabel(), ax.get_ylabel()) == (name, "height")
    other = "z" if name == "x" else "x"
    value = mixed.X[other].median() if at is None else given[other]
    tree = "birch" if at is None else "ash"
    assert ax.get_title(loc="left") == f"{other} = {value:.4g}, tree = {tree}"
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told == ["90 %", "50 %", "median"]


def test_a_fan_without_the_median_has_bands_only(plain):
    ax = plots.fan(plain.model, plain.X, levels=[0.1, 0.9])
    assert len(ax.collections) == 1
    assert not ax.get_lines()
    assert not ax.get_title(loc="left")


def test_points_of_a_fan_are_of_the_sample(mixed):
    ax = plots.fan(mixed.model, mixed.X, mixed.y, column="z")
    z, y = ax.get_lines()[-1].get_data()
    birch = mixed.X["tree"] == "birch"
    low, high = np.quantile(mixed.X["z"], [0.005, 0.995])
    seen = birch & mixed.X["z"].between(low, high)
    seen &= mixed.y.between(*np.quantile(mixed.y[birch], [0.005, 0.995]))
    assert_array_equal(z, mixed.X["z"][seen])
    assert_array_equal(y, mixed.y[seen])
    assert len(z) > 0.9 * birch.sum()


def test_of_many_rows_few_are_shown(plain):
    x = np.linspace(-1, 1, 300_000)[:, None]
    ax = plots.fan(plain.model, x, x)
    shown = ax.get_lines()[-1].get_xdata()
    assert 1900 < len(shown) <= 2000
    assert_allclose(np.quantile(shown, [0.25, 0.75]), [-0.5, 0.5], atol=0.01)


@pytest.mark.parametrize(
    "kind", [pd.DataFrame.to_numpy, pl.from_pandas, lambda X: X.to_numpy().tolist()]
)
def test_tables_of_every_kind_give_the_same_fan(mixed, kind):
    X = kind(mixed.X)
    model = fitted(X, mixed.y, TABLE)
    fans = [plots.fan(*case, column=1) for case in ((mixed.model, mixed.X), (model, X))]
    a, b = (ax.get_lines()[0].get_data() for ax in fans)
    assert_allclose(a, b)
    assert fans[1].get_xlabel() == ("z" if isinstance(X, pl.DataFrame) else "X[1]")


@pytest.mark.parametrize(
    "estimator",
    [
        ConditionalMeanEmbedding(GAUSSIAN, GAUSSIAN, regularization=1e-3, random_state=0),
        PolynomialJointDistribution(3, regularization=0.1),
    ],
)
def test_other_models_can_be_drawn(plain, estimator):
    model = estimator.fit(plain.X, plain.y)
    ax = plots.fan(model, plain.X)
    x, median = ax.get_lines()[0].get_data()
    assert_allclose(median, model.given(x).median())
    assert plots.density_map(model, plain.X).has_data()
    assert len(plots.eigenvalues(model).get_lines()) == 2


def test_densities_are_those_of_the_distributions(mixed):
    ax = plots.density_map(mixed.model, mixed.X, column="x")
    mesh = ax.collections[0]
    x, y = mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1]
    dist = mixed.model.given(held_rows(mixed.X, "x", x))
    assert_allclose(mesh.get_array(), dist.pdf(y, grid=True).T)
    low, high = np.quantile(mixed.y, [0.005, 0.995])
    assert y[0] < low < high < y[-1]
    assert ax.figure.axes[1].get_ylabel() == "density"


def hatched(ax):
    """Return whether something is marked as negative."""
    marked = [
        c for c in ax.collections if c.get_hatch() or getattr(c, "hatches", [None])[0]
    ]
    assert bool(marked) == (ax.get_legend() is not None)
    return bool(marked)


@pytest.mark.parametrize("positivity", ["none", "pointwise"])
def test_ratios_are_those_of_the_model(plain, positivity):
    model = fitted(plain.X, plain.y, regularization=1e-5, positivity=positivity)
    ax = plots.ratio_map(model, plain.X, plain.y)
    mesh = ax.collections[0]
    x, y = mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1]
    ratio = model.ratio(x[:, None], y, grid=True).T
    assert_allclose(mesh.get_array(), ratio)
    for values, z in ((x, plain.X), (y, plain.y)):
        assert_allclose(values[[0, -1]], np.quantile(z, [0.005, 0.995]))
    assert hatched(ax) == (ratio.min() < 0)
    assert (ratio.min() < 0) == (positivity == "none")
    if positivity == "none":
        assert_allclose(ax.collections[-2].levels, [0.0])
    ends = [0.0, 1.0, max(ratio.max(), 2.0)]
    assert_allclose(mesh.norm(ends), [0.0, 0.5, 1.0], atol=1e-12)
    assert_allclose(mesh.norm.inverse([0.0, 0.5, 1.0]), ends, atol=1e-12)


def test_ratios_of_many_columns_hold_the_others(mixed):
    X, Y = mixed.X, mixed.X[["z", "x"]].assign(height=mixed.y)
    model = fitted(X, Y, TABLE)
    ax = plots.ratio_map(model, X, Y, column_x="z", column_y="height", at_y=[1, 0.5, 2])
    mesh = ax.collections[0]
    z, y = mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1]
    others = pd.DataFrame({"z": 1.0, "x": 0.5, "height": y})
    ratio = model.ratio(held_rows(X, "z", z), others, grid=True)
    assert_allclose(mesh.get_array(), ratio.T)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("z", "height")
    told = ax.get_title(loc="left")
    assert told == f"x = {X['x'].median():.4g}, tree = birch, z = 1, x = 0.5"


def test_negative_densities_are_marked(plain):
    signed = fitted(plain.X, plain.y, regularization=1e-6, positivity="none")
    ax = plots.density_map(signed, plain.X)
    assert ax.collections[0].get_array().min() < 0
    assert hatched(ax)
    independent = fitted(plain.X, plain.y, regularization=1e3)
    assert not hatched(plots.density_map(independent, plain.X))


def test_many_columns_that_are_held_are_counted():
    X = np.random.default_rng(0).normal(size=(100, 6))
    model = fitted(X, X[:, 0])
    assert plots.fan(model, X).get_title(loc="left") == "5 other columns fixed"


@pytest.mark.parametrize(
    ("conditions", "title", "labels"),
    [
        ({"x": [0.123456, 1.0]}, "x", ["0.1235", "1"]),
        ({"tree": ["ash", "cedar"]}, "tree", ["ash", "cedar"]),
        ({"z": [1, 2], "tree": ["ash", "ash"]}, "z", ["1", "2"]),
        ({"z": [1, 2], "tree": ["ash", "birch"]}, "z, tree", ["1, ash", "2, birch"]),
        (
            {"x": [0, 1], "z": [2, 3], "tree": ["ash", "birch"]},
            "x, z, tree",
            ["0, 2, ash", "1, 3, birch"],
        ),
        ({"x": [0, 0]}, "", ["distribution 0", "distribution 1"]),
    ],
)
def test_distributions_are_labelled_by_what_tells_them_apart(
    mixed, conditions, title, labels
):
    table = pd.DataFrame({"x": [0.0, 0.0], "z": 1.0, "tree": "birch"}).assign(**conditions)
    legend = mixed.model.given(table).plot().get_legend()
    assert legend.get_title().get_text() == title
    assert [text.get_text() for text in legend.get_texts()] == labels


def test_distributions_that_differ_in_much_are_numbered():
    X = np.random.default_rng(0).normal(size=(100, 4))
    legend = fitted(X, X[:, 0]).given(X[:2]).plot().get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "distribution 0",
        "distribution 1",
    ]


def test_conditions_without_names_are_called_by_their_side(plain):
    for dist, title in (
        (plain.model.given([0, 1]), "x"),
        (plain.model.given(y=[0, 1]), "y"),
    ):
        assert dist.plot().get_legend().get_title().get_text() == title


WRONG = {
    "no column": (
        lambda w: plots.fan(w.model, w.X, column="fare"),
        r"fan: `column` must be one of \['x', 'z', 'tree'\]. Got 'fare'",
    ),
    "no number": (
        lambda w: plots.fan(w.model, w.X.to_numpy(), column=3),
        "fan: `column` must be an integer from 0 to 2. Got 3",
    ),
    "categories": (
        lambda w: plots.density_map(w.model, w.X, column="tree"),
        "density_map: `column` must be a numeric column. Got 'tree', a categorical column",
    ),
    "constant": (
        lambda w: plots.fan(w.model, w.X.assign(z=1.0), column="z"),
        "fan: `X` must be of several values in `column`. Got only 1 in column 'z'",
    ),
    "two rows": (
        lambda w: plots.fan(w.model, w.X, at=w.X.iloc[:2]),
        "fan: `at` must be one row. Got 2",
    ),
    "short row": (
        lambda w: plots.fan(w.model, w.X, at=[1.0, "ash"]),
        "fan: `at` must be a table of 3 columns. Got 2",
    ),
    "lopsided": (
        lambda w: plots.fan(w.model, w.X, levels=[0.1, 0.5]),
        r"fan: `levels` must be numbers between 0 and 1, symmetric .* Got \[0.1, 0.5\]",
    ),
    "outside": (
        lambda w: plots.fan(w.model, w.X, levels=[0.0, 1.0]),
        "fan: `levels` must be numbers between 0 and 1, symmetric about one half",
    ),
    "short": (
        lambda w: plots.fan(w.model, w.X, w.y[:5]),
        "fan: `Y` must be one number for each of the 600 rows of `X`. Got 5 rows of 1",
    ),
    "no distributions": (
        lambda w: plots.fan(KernelLogisticRegression(), w.X),
        "fan: `model` must be of conditional distributions, with a method `given`. Got",
    ),
    "no joint distribution": (
        lambda w: plots.ratio_map(ConditionalMeanEmbedding(), w.X, w.y),
        "ratio_map: `model` must be of the joint distribution, with a method `ratio`",
    ),
    "column of Y": (
        lambda w: plots.ratio_map(w.model, w.X, w.y, column_y=1),
        r"ratio_map: `column_y` must be one of \['height'\]. Got 1",
    ),
    "not fitted": (
        lambda _: plots.eigenvalues(JointDistribution()),
        "eigenvalues: `model` must be a fitted model with low-rank bases of both sides",
    ),
    "no factor": (
        lambda _: plots.trace_error(3),
        "trace_error: `source` must be a fitted model with low-rank bases",
    ),
    "weights": (
        lambda w: plots.trace_error(w.model, sample_weight=[1.0]),
        "trace_error: `sample_weight` must be None for a model, which has",
    ),
    "no search": (
        lambda _: plots.ridge_path(JointDistribution()),
        "ridge_path: `source` must be a fitted model that has chosen its ridge",
    ),
    "no search of scales": (
        lambda _: plots.scale_map(None),
        "scale_map: `source` must be a fitted model that has chosen its ridge",
    ),
    "bins": (
        lambda w: plots.pit_histogram(w.model.given(w.X), w.y, bins=1),
        "pit_histogram: `bins` must be an integer of at least 2. Got 1",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(mixed, case):
    draw, message = WRONG[case]
    with pytest.raises(ValueError, match=f"^{message}"):
        draw(mixed)
    assert not plt.get_fignums()


def test_models_of_several_columns_or_categories_have_no_fan(mixed):
    several = fitted(mixed.X, mixed.X[["x", "z"]], TABLE)
    rule = "must be of one numeric column Y. Got"
    with pytest.raises(ValueError, match=f"^fan: `model` {rule} 2 columns"):
        plots.fan(several, mixed.X)
    trees = fitted(mixed.X, mixed.X["tree"], TABLE, DELTA)
    with pytest.raises(ValueError, match=f"^density_map: `model` {rule} categories"):
        plots.density_map(trees, mixed.X)
    few = fitted(mixed.X, mixed.y.round() % 2, TABLE)
    with pytest.raises(
        ValueError, match=r"^density_map: `model` must be of a Y with a dens"
    ):
        plots.density_map(few, mixed.X)


def test_weights_that_a_factor_was_not_given_are_noticed():
    X = np.random.default_rng(0).normal(size=(100, 1))
    weights = np.arange(1.0, 101.0)
    low = pivoted_cholesky(kernels.Gaussian(1.0), X, sample_weight=weights, random_state=0)
    with pytest.raises(
        ValueError, match=r"^trace_error: `sample_weight` must be the weights"
    ):
        plots.trace_error(low)
