"""Conditional distributions: every functional is that of explicit weights on points."""

import tracemalloc
from functools import cache
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from dependent_pairs import CATEGORIES, N, Q, kind_of, sides
from distribution_oracle import Explicit, dense_ratio, smooth_density
from numpy.testing import assert_allclose, assert_array_equal

from jointdist import Conditional, JointDistribution
from jointdist.data.executor import Executor
from jointdist.distributions import conditions, energy
from jointdist.distributions import kde as density
from jointdist.distributions import weights as scan
from jointdist.distributions.arguments import decoded
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.signed import Signed
from jointdist.errors import SignedDistributionWarning
from jointdist.kernels import Delta, Gaussian

mpl.use("Agg")

LEVELS = [0.03, 0.25, 0.5, 0.8, 0.99]
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


KINDS = [
    "scalar",
    "one column",
    "rounded",
    "inflated",
    "binary",
    "vector",
    "counts",
    "categories",
    "categories of x",
    "mixed",
    "mixed x",
    "far",
]
CASES = [
    *((kind, "exact", "none", False) for kind in KINDS),
    ("scalar", "total", "none", False),
    ("rounded", "exact", "none", True),
    ("inflated", "free", "none", True),
    ("binary", "free", "none", True),
    ("vector", "free", "none", True),
    ("categories", "total", "none", True),
    ("mixed x", "free", "none", True),
    ("scalar", "exact", "tightened", False),
    ("inflated", "exact", "grid", True),
    ("vector", "total", "grid", False),
]


@cache
def fitted(kind, marginals, positivity, weighted, executor=None):
    """Return a model of some kind, what it was fitted to, and its weights."""
    data = sides(kind)
    rng = np.random.default_rng(6)
    data.w = rng.integers(0, 4, N) * rng.random(N) if weighted else np.ones(N)
    if weighted:
        assert (data.w == 0).sum() > N / 8
    data.model = JointDistribution(
        data.kernel_x,
        data.kernel_y,
        tol=0.05,
        regularization=0.01 if positivity == "grid" else 1e-5,
        marginals=marginals,
        positivity=positivity,
        random_state=0,
        executor=executor or Executor(workers=2, block_rows=297),
    ).fit(data.X, data.Y, data.w if weighted else None)
    if positivity != "none":  # which is promised on the grid of the sample
        counted = np.flatnonzero(data.w)[:Q]
        data.x, data.y = data.X[counted], data.Y[counted]
    return data


def described(case):
    """Return a case in categories."""
    kind, marginals, positivity, weighted, *side = case
    return "-".join([kind, marginals, positivity, *["weighted"] * weighted, *side])


@cache
def explicit(*case):
    """Return distributions of one side, with their weights and support points made explicit."""
    *case, side = case
    data = fitted(*case)
    model, shares = data.model, data.w / data.w.sum()
    if side == "y":
        dist, support, points = model.given(x=data.x), data.Y, data.y
        ratio = model.ratio(data.x, data.Y, grid=True)
        at_points = model.ratio(data.x, data.y, grid=True)
    else:
        dist, support, points = model.given(y=data.y), data.X, data.x
        ratio = model.ratio(data.X, data.y, grid=True).T
        at_points = model.ratio(data.x, data.y, grid=True).T
    support, points = (a[:, 0] if a.shape[1:] == (1,) else a for a in (support, points))
    mass = (shares * ratio).sum(axis=1, keepdims=True)
    assert (mass > 0).all()
    return SimpleNamespace(
        data=data,
        side=side,
        dist=dist,
        explicit=Explicit(shares * ratio / mass, support),
        mass=mass[:, 0],
        support=support,
        points=points,
        shares=shares,
        ratio=ratio / mass,
        at_points=at_points / mass,
        numeric=(kind_of(case[0], side) != "categories"),
        signed=model.positivity == "none",
    )


LAWS = [(*case, side) for case in CASES for side in "yx"]


def those(kinds):
    """Return a fixture of the distributions of these kinds."""
    chosen = [dist for dist in LAWS if kind_of(dist[0], dist[-1]) in kinds]

    @pytest.fixture(params=chosen, ids=described)
    def fixture(request):
        return explicit(*request.param)

    return fixture


both = those(["categories", "few", "density"])
numeric = those(["few", "density"])
with_density = those(["density"])


def test_weights_are_the_ratio_of_the_model_on_the_support_points(both):
    weights = both.dist.weights()
    assert_allclose(weights, both.explicit.w, **CLOSE)
    assert_array_equal(both.dist.support_points(), both.support)
    assert weights.shape == (len(both.dist), len(both.support)) == (Q, N)
    if both.signed:
        assert (weights < 0).any()


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if case[2] == "none"
        and "categories" not in (kind_of(case[0], "x"), kind_of(case[0], "y"))
    ],
    ids=described,
)
def test_the_ratio_solves_the_problem_of_the_paper(case):
    data = fitted(*case)
    Y, y = (1.0 * values.reshape(len(values), -1) for values in (data.Y, data.y))
    expected = dense_ratio(data.model, data.X, Y, data.w, x=data.x, y=y)
    found = data.model.ratio(data.x, data.y, grid=True)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    assert_allclose(data.model.ratio(data.x, data.y), np.diagonal(found), **CLOSE)


def test_mass_is_the_weight_before_it_was_normalised(both):
    assert_allclose(both.dist.mass(), both.mass, **CLOSE)
    if both.data.model.marginals == "exact":
        assert_allclose(both.mass, 1, **CLOSE)
    elif both.data.model.marginals == "free":
        assert np.abs(both.mass - 1).max() > 1e-4


def test_means_and_second_moments(numeric):
    dist, explicit = numeric.dist, numeric.explicit
    size = np.abs(numeric.support).max()
    assert_allclose(dist.mean(), explicit.mean(), atol=1e-10 * size)
    assert_allclose(dist.second_moment(), explicit.second_moment(), atol=1e-10 * size**2)


def test_covariances_also_far_from_zero(numeric):
    dist, cov = numeric.dist, numeric.explicit.cov()
    assert_allclose(dist.cov(), cov, rtol=1e-9, atol=1e-9)
    var = cov if cov.ndim == 1 else np.diagonal(cov, axis1=1, axis2=2)
    assert_allclose(dist.var(), var, rtol=1e-9, atol=1e-9)
    positive = (dist.var().reshape(Q, -1) > 0).all(axis=1)
    assert_allclose(dist[positive].std(), np.sqrt(var[positive]), rtol=1e-8)
    if not positive.all():
        with pytest.warns(
            SignedDistributionWarning, match=r"^Conditional\.std: the variance of"
        ) as caught:
            assert_array_equal(np.isnan(dist.std()), dist.var() < 0)
        assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_expectations_of_functions_of_any_shape(both, shape):
    rng = np.random.default_rng(8)
    table = {}

    def f(z):
        keys = [tuple(np.atleast_1d(row)) for row in z]
        return np.array([table.setdefault(key, rng.normal(size=shape)) for key in keys])

    values = f(both.support)  # the same support point has the same value in every block
    assert_allclose(both.dist.expect(f), both.explicit.expect(values), **CLOSE)


def test_probabilities_of_events(both):
    chosen = both.support[:40]

    def event(z):
        same = z[:, None] == chosen
        return (same.all(axis=2) if same.ndim == 3 else same).any(axis=1).astype(bool)

    assert_allclose(
        both.dist.prob(event), both.explicit.expect(event(both.support)), **CLOSE
    )


def test_errors_of_events_say_what_they_were_called_with(rng):
    x = rng.normal(size=60)
    kernel = Gaussian(1.0)
    model = JointDistribution(kernel, kernel, regularization=1e-2).fit(x[:, None], x)
    dist = model.given(x=[0.0])
    with pytest.raises(ValueError, match="ambiguous") as chained:
        dist.prob(lambda y: -1 < y < 1)
    with pytest.raises(IndexError) as columns:
        dist.prob(lambda y: y[:, 1] > 0)
    for found in chained, columns:
        assert "`event` was called with 60 support points" in found.value.__notes__[0]
    with pytest.raises(ValueError, match=r"or an expression over columns\. Got 400"):
        dist.prob(400)


def test_cdf_at_all_points_or_in_pairs(numeric):
    dist, support = numeric.dist, numeric.support
    points = np.concatenate(
        [numeric.points, support[:9], support[:9] - 1e-3, 2e5 + support[:1]]
    )
    F = numeric.explicit.cdf(points)
    assert_allclose(dist.cdf(points), F, **CLOSE)
    own = numeric.points
    assert_allclose(dist.cdf(own, grid=True), F[:, :Q], **CLOSE)
    assert_allclose(dist.cdf(own), np.diagonal(F), **CLOSE)
    assert_allclose(dist.cdf(own, grid=False), np.diagonal(F), **CLOSE)
    for grid in (None, True, False):
        assert_allclose(dist.cdf(own[0], grid=grid), F[:, 0], **CLOSE)
    assert_allclose(dist[0].cdf(own[:1], grid=True), F[:1, :1], **CLOSE)
    assert_allclose(dist[0].cdf(own[:1]), F[0, :1], **CLOSE)


def test_quantiles_are_those_of_the_running_maximum(numeric):
    dist, expected = numeric.dist, numeric.explicit.quantile(LEVELS)
    assert_array_equal(dist.quantile(LEVELS), expected)
    assert_array_equal(dist.quantile(0.25), expected[:, 1])
    assert_array_equal(dist.median(), expected[:, 2])
    ends = numeric.explicit.quantile([0.1, 0.9])
    assert_array_equal(dist.interval(0.8), ends)
    many = np.linspace(0.001, 0.999, 60)  # another way through the search
    assert_array_equal(dist.quantile(many), numeric.explicit.quantile(many))
    assert_array_equal(dist.quantile(many[::-1]), dist.quantile(many)[:, ::-1])


def test_densities_are_those_of_the_smoothed_sample_times_the_ratio(with_density):
    dist, points = with_density.dist, with_density.points
    assert not dist.is_discrete
    height = smooth_density(with_density.support, with_density.shares, points)
    expected = with_density.at_points * height
    close = {"rtol": 1e-8, "atol": 1e-10}
    assert_allclose(dist.pdf(points, grid=True), expected, **close)
    assert_allclose(dist.pdf(points), np.diagonal(expected), **close)
    assert_allclose(dist.pdf(points[:5]), expected[:, :5], **close)
    assert_allclose(dist.pdf(points[3]), expected[:, 3], **close)
    log = dist.logpdf(points, grid=True)
    positive = expected > 1e-6
    assert_allclose(log[positive], np.log(expected[positive]), rtol=1e-6, atol=1e-8)
    assert_array_equal(np.isneginf(log), dist.pdf(points, grid=True) <= 0)
    assert log.shape == (Q, Q)
    assert dist.logpdf(points[0]).shape == (Q,)


def test_modes_are_of_largest_density_or_probability(both):
    dist, mode = both.dist, both.dist.mode()
    assert mode.shape == (Q, *both.support.shape[1:])
    if dist.is_discrete:
        keys = [tuple(np.atleast_1d(point)) for point in both.support]
        height = [
            {key: w[[other == key for other in keys]].sum() for key in set(keys)}
            for w in both.explicit.w
        ]
        for own, value in zip(height, mode, strict=True):
            assert own[tuple(np.atleast_1d(value))] >= max(own.values()) - 1e-10
    else:
        counted = both.shares > 0
        support = both.support[counted]
        height = smooth_density(both.support, both.shares, support) * both.ratio[:, counted]
        for own, value in zip(height, mode, strict=True):
            at = (support == value).reshape(len(support), -1).all(axis=1)
            assert at.any()
            assert own[at].max() >= own.max() * (1 - 1e-8)


def test_draws_are_quantiles_or_follow_the_clipped_weights(both):
    uniform = np.random.default_rng(3).random((Q, 50))
    if both.numeric and both.support.ndim == 1:
        expected = both.explicit.quantile(uniform)
    else:
        expected = both.explicit.clipped_draws(uniform)
    assert_array_equal(both.dist.sample(50, random_state=3), expected)
    again = both.dist.sample(50, random_state=np.random.default_rng(3))
    assert_array_equal(again, expected)
    assert both.dist.sample().shape == (Q, 1, *both.support.shape[1:])


def test_negative_share_and_effective_size(both):
    assert_allclose(both.dist.negative_share(), both.explicit.negative_share(), **CLOSE)
    size = both.dist.effective_size()
    assert_allclose(size, both.explicit.effective_size(), rtol=1e-8)
    if not both.signed:
        assert (both.dist.negative_share() < 1e-10).all()


def distances(support, shares, points):
    """Return the distances between support points, and from these to other points."""
    if support.ndim == 1 and support.dtype.kind in "if":
        return np.abs(support[:, None] - support), np.abs(points[:, None] - support)
    table, at = support.reshape(len(support), -1), points.reshape(len(points), -1)
    squared = np.zeros((len(table) + len(at), len(table)))
    for z, both in zip(table.T, np.concatenate([table, at]).T, strict=True):
        if isinstance(z[0], str):
            squared += both[:, None] != z
        else:
            z, both = z.astype(float), both.astype(float)  # noqa: PLW2901
            variance = shares @ (z - shares @ z) ** 2
            squared += (both[:, None] - z) ** 2 / variance
    return np.split(np.sqrt(squared), [len(table)])


def test_energy_scores_are_double_sums(both):
    data = both.data
    apart, near = distances(both.support, both.shares, both.points)
    coded = both.dist.encoding.encode(both.points, where="", name="", vector=True)
    found = both.dist.distributions.energy_scores(coded.read(0, Q))
    marginal = Explicit(np.tile(both.shares, (Q, 1)), both.support)
    size = max(apart.max(), 1)
    assert_allclose(found[0], both.explicit.energy(apart, near), atol=1e-10 * size)
    assert_allclose(found[1], marginal.energy(apart, near), atol=1e-10 * size)
    if both.side == "y":
        w = np.arange(Q) % 3
        skill = 1 - np.average(found[0], weights=w) / np.average(found[1], weights=w)
        assert data.model.score(data.x, data.y, w) == pytest.approx(skill, rel=1e-12)
        skill = 1 - found[0].mean() / found[1].mean()
        assert data.model.score(data.x, data.y) == pytest.approx(skill, rel=1e-12)


def test_the_crps_is_the_squared_distance_of_the_cdf_to_a_step():
    data = fitted("scalar", "exact", "none", weighted=False)
    dist = data.model.given(x=data.x)
    found = dist.distributions.energy_scores(data.y[:, None])[0]
    edges = np.unique(np.concatenate([data.Y, data.y]))
    F, gaps = dist.cdf(edges[:-1], grid=True), np.diff(edges)
    step = data.y[:, None] <= edges[:-1]
    assert_allclose(found, (F - step) ** 2 @ gaps, rtol=1e-10)


@pytest.mark.parametrize("case", CASES, ids=described)
def test_predictions_are_means_or_modes(case):
    data = fitted(*case)
    dist, found = data.model.given(x=data.x), data.model.predict(data.x)
    categories = kind_of(case[0], "y") == "categories"
    assert_array_equal(found, dist.mode() if categories else dist.mean())


FOUR = [
    ("inflated", "free", "none", True),
    ("vector", "free", "none", True),
    ("mixed", "exact", "none", False),
    ("binary", "exact", "none", False),
]
four = pytest.mark.parametrize("case", FOUR, ids=described)


@four
@pytest.mark.parametrize("side", ["x", "y"])
def test_indexing_chooses_distributions(case, side):
    dist = explicit(*case, side).dist
    mean = dist.expect(lambda z: np.arange(len(z)) % 7)
    ask = lambda dist: dist.expect(lambda z: np.arange(len(z)) % 7)  # noqa: E731
    mask = np.arange(Q) % 3 == 0
    for index in (slice(2, 9, 3), [5, 5, 0], mask, slice(None, None, -1)):
        assert_allclose(ask(dist[index]), mean[index], **CLOSE)
    for index in (0, -1, np.int64(4)):
        assert len(dist[index]) == 1
        assert_allclose(ask(dist[index])[0], mean[index], **CLOSE)
    every = list(dist)
    assert len(every) == len(dist) == Q
    assert all(isinstance(one, Conditional) for one in every)
    assert_allclose(np.concatenate([one.mass() for one in every]), dist.mass(), **CLOSE)
    with pytest.raises(
        IndexError, match=r"^Conditional: index 23 is out of .*23 distributions$"
    ):
        dist[Q]
    with pytest.raises(
        ValueError, match=r"^Conditional: `index` must be a choice of at least one"
    ):
        dist[:0]


def test_repr_says_what_it_is(both):
    told = repr(both.dist)
    d = 1 if both.support.ndim == 1 else both.support.shape[1]
    columns = "one column" if d == 1 else f"{d} columns"
    assert told.startswith(
        f"Conditional(23 distributions of {columns} on 700 support points"
    )
    if both.numeric and d == 1:
        assert f"; means {both.dist.mean()[0]:.4g}, " in told
        assert told.endswith(", ...)")
    assert repr(both.dist[0]).startswith("Conditional(1 distribution of ")


def test_frames_have_a_row_a_distribution(numeric):
    dist = numeric.dist
    dist = dist[(dist.var().reshape(Q, -1) > 0).all(axis=1)]
    frame = dist.to_frame([0.1, 0.9])
    assert isinstance(frame, pd.DataFrame)
    told = {"mean": dist.mean(), "std": dist.std()}
    told |= {"q0.1": dist.quantile(0.1), "q0.9": dist.quantile(0.9)}
    if numeric.support.ndim == 2:
        d = numeric.support.shape[1]
        told = {
            f"{i}_{name}": values[:, i] for i in range(d) for name, values in told.items()
        }
    assert list(frame.columns) == list(told)
    for name, values in told.items():
        assert_array_equal(frame[name], values)


@pytest.mark.parametrize(
    "case",
    [
        ("rounded", "exact", "none", True, "y"),
        ("one column", "exact", "none", False, "x"),
        ("binary", "free", "none", True, "y"),
        ("categories", "total", "none", True, "y"),
        ("categories of x", "exact", "none", False, "x"),
    ],
    ids=described,
)
def test_plots_are_densities_or_bars(case):
    both = explicit(*case)
    ax = both.dist[:3].plot()
    if both.dist.is_discrete:
        values = np.unique(both.support)
        assert [label.get_text() for label in ax.get_xticklabels()] == [
            str(value)
            for value in decoded(both.dist.encoding, both.dist.distributions.table.points)
        ]
        heights = [bar.get_height() for bar in ax.patches]
        expected = [
            both.explicit.w[i, both.support == value].sum()
            for i in range(3)
            for value in values
        ]
        assert_allclose(heights, expected, **CLOSE)
    else:
        curves = ax.get_lines()[-3:]
        for i, curve in enumerate(curves):
            y, height = curve.get_data()
            assert_allclose(height, both.dist[i].pdf(y, grid=True)[0], rtol=1e-9)
    assert len(ax.get_legend().get_texts()) == 3
    figure, own = plt.subplots()
    assert both.dist[0].plot(own) is own
    assert own.get_legend() is None
    plt.close(figure)
    plt.close(ax.figure)


def answers(dist):
    """Return what a distribution says to every question that is open to it."""
    told = {
        name: getattr(dist, name)()
        for name in ("mass", "weights", "negative_share", "effective_size", "mode")
    }
    told["sample"] = dist.sample(5, random_state=0)
    if dist.encoding.numeric:
        points = dist.distributions.points()[: len(dist)]
        told |= {name: getattr(dist, name)() for name in ("mean", "var", "cov", "median")}
        told["second_moment"] = dist.second_moment()
        told["cdf"], told["cdf_grid"] = dist.cdf(points), dist.cdf(points[:3], grid=True)
        told["quantile"] = dist.quantile(LEVELS)
        if not dist.is_discrete:
            told["pdf"], told["pdf_grid"] = (
                dist.pdf(points),
                dist.pdf(points[:3], grid=True),
            )
    told["energy"] = dist.distributions.energy_scores(
        dist.distributions.points()[: len(dist)]
    )[0]
    told["prob"] = dist.prob(
        lambda z: z.reshape(len(z), -1)[:, 0] == dist.support_points().flat[0]
    )
    return told


def assert_same_answers(found, expected, **close):
    """Compare answers; values of support points must be the same to the bit."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if name in ("sample", "mode", "quantile", "median"):
            assert_array_equal(found[name], value, err_msg=name)
        else:
            assert_allclose(found[name], value, err_msg=name, **close)


@four
@pytest.mark.parametrize("executor", [Executor(1, 10_000), Executor(3, 67)])
def test_answers_do_not_depend_on_blocks_or_threads(case, executor):
    data, other = fitted(*case), fitted(*case, executor=executor)
    for condition in ({"x": data.x}, {"y": data.y}):
        found = answers(other.model.given(**condition))
        expected = answers(data.model.given(**condition))
        assert_same_answers(found, expected, rtol=1e-8, atol=1e-8)


@four
def test_conditions_that_do_not_fit_are_asked_in_parts(case, monkeypatch):
    data = fitted(*case)
    for condition in ({"x": data.x}, {"y": data.y}):
        expected = answers(data.model.given(**condition))
        with monkeypatch.context() as patch:
            dist = data.model.given(**condition)
            patch.setattr(conditions, "_KEPT", 12 * dist.distributions.support.rank)
            assert len(list(dist.distributions.conditions.parts())) == 2
            assert_same_answers(answers(dist), expected, rtol=1e-11, atol=1e-11)


@four
def test_scans_that_do_not_fit_are_made_in_parts(case, monkeypatch):
    data = fitted(*case)
    dist = data.model.given(x=data.x)
    expected = answers(dist)
    monkeypatch.setattr(scan, "_CELLS", 300)
    assert_same_answers(answers(dist), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", ["scalar", "inflated"])
def test_many_support_points_are_smoothed_in_cells(kind, monkeypatch):
    data = fitted(kind, "exact", "none", weighted=False)
    dist = data.model.given(x=data.x)
    points = np.linspace(-5, 5, 60)[:, None]
    expected = dist.distributions.support.points.density.at(points)
    monkeypatch.setattr(density, "_MANY", 100)
    sample = dist.distributions.support.points
    smooth = density.kernel_density(sample.table(), sample.shares)
    assert smooth.shares.sum() == pytest.approx(1)
    assert_allclose(smooth.at(points), expected, rtol=2e-3)


@pytest.mark.parametrize("kind", ["vector", "mixed"])
def test_scores_of_many_support_points_are_those_of_some(kind, monkeypatch):
    data = fitted(kind, "exact", "none", weighted=False)
    exact = data.model.score(data.x, data.y)
    monkeypatch.setattr(energy, "_MANY", 400)
    monkeypatch.setattr(energy, "_BLOCK", 7)
    assert data.model.score(data.x, data.y) == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize("marginals", ["exact", "total", "free"])
def test_rows_of_weight_zero_are_no_rows(marginals):
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(90, 1)), rng.normal(size=90)
    Y[::3] += 50  # far away
    w = (np.arange(90) % 3 > 0) * rng.random(90)
    kept = w > 0
    model = JointDistribution(
        Gaussian(1.0),
        Gaussian(1.0),
        marginals=marginals,
        max_rank=5,
        pivoting="greedy",
        random_state=0,
    )
    model.tol = 0.9  # the rank is what matters here
    x, y = X[:7], rng.normal(size=7)
    a = model.fit(X, Y, w).given(x=x)
    told = a.mean(), a.var(), a.quantile(LEVELS), a.mode(), a.pdf(y), a.effective_size()
    b = model.fit(X[kept], Y[kept], w[kept]).given(x=x)
    same = b.mean(), b.var(), b.quantile(LEVELS), b.mode(), b.pdf(y), b.effective_size()
    for found, expected in zip(told, same, strict=True):
        assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_a_weight_of_two_is_two_rows():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(150, 2)), np.arange(150) % 3
    Y = X[:, 0] + rng.normal(size=150)
    model = JointDistribution(Gaussian(2.0), Gaussian(2.0), regularization=1e-3)
    dist = model.fit(X, Y, w).given(x=X[:9])
    same = model.fit(np.repeat(X, w, axis=0), np.repeat(Y, w)).given(x=X[:9])
    assert_allclose(dist.mean(), same.mean(), atol=1e-6)
    assert_allclose(dist.cov(), same.cov(), atol=1e-6)
    assert_array_equal(dist.quantile(LEVELS), same.quantile(LEVELS))
    assert_allclose(dist.pdf(Y[:9]), same.pdf(Y[:9]), atol=0.02)  # fewer in effect, wider


def test_marginals_are_distributions_too():
    for marginals in ("exact", "total", "free"):
        data = fitted("rounded", marginals, "none", weighted=True)
        shares = data.w / data.w.sum()
        for of, support, axis in (("y", data.Y, 0), ("x", data.X, 1)):
            ratio = data.model.ratio(data.X, data.Y, grid=True)
            w = shares * np.tensordot(ratio, shares, axes=(axis, 0))
            explicit = Explicit(w[None, :] / w.sum(), support)
            dist = data.model.marginal(of)
            assert_allclose(dist.weights(), explicit.w, **CLOSE)
            assert_allclose(dist.mass(), [w.sum()], **CLOSE)
            assert_allclose(dist.mean(), explicit.mean(), **CLOSE)
            assert_array_equal(dist.quantile(LEVELS), explicit.quantile(LEVELS))
            if marginals == "exact":
                assert_allclose(dist.weights()[0], shares, **CLOSE)
            if marginals != "free":
                assert_allclose(w.sum(), 1, **CLOSE)


def without_distribution(kind):
    """Return three distributions, the second of which has no mass; and those that were there."""
    data = fitted(kind, "free", "none", weighted=True)
    usual = data.model.given(x=data.x[:3])
    t, mean = usual.distributions.conditions.t.copy(), usual.distributions.support.mean
    t[1] = -2 * mean / (mean @ mean)
    return Conditional(Signed(usual.distributions.support, Fixed(t))), usual


@pytest.mark.parametrize(
    "kind", ["inflated", "scalar", "vector", "categories", "mixed", "counts"]
)
def test_conditions_without_a_distribution_are_nan(kind):
    dist, usual = without_distribution(kind)
    assert dist.mass()[1] == pytest.approx(-1)
    names = ["weights", "negative_share", "effective_size"]
    numeric, scalar = dist.encoding.numeric, dist.encoding.width == 1
    if numeric:
        names += ["mean", "var", "cov", "second_moment", "median", "interval", "mode"]
    told = {name: getattr(Conditional, name) for name in names}
    told["expect"] = lambda dist: dist.expect(lambda z: np.arange(len(z)) % 5)
    if numeric:
        told["sample"] = lambda dist: dist.sample(4, random_state=0)
        point = dist.support_points()[0]
        told["cdf"] = lambda dist: dist.cdf(point)
        told["cdfs"] = lambda dist: dist.cdf(dist.support_points()[: len(dist)])
    if not dist.is_discrete:
        told["pdf"] = lambda dist: dist.pdf(point)
        told["logpdf"] = lambda dist: dist.logpdf(point)
    for name, ask in told.items():
        with pytest.warns(
            SignedDistributionWarning, match=r"^Conditional: 1 of 3 conditions have no"
        ) as caught:
            found = ask(dist)
        assert {warning.filename for warning in caught} == {__file__}
        assert np.isnan(found[1]).all(), name
        assert_allclose(found[[0, 2]], ask(usual)[[0, 2]], **CLOSE, err_msg=name)
    if numeric and scalar:
        with pytest.warns(SignedDistributionWarning):
            assert ", nan, " in repr(dist)


@pytest.mark.parametrize("kind", ["categories", "mixed"])
def test_categories_without_a_distribution_are_none(kind):
    dist, usual = without_distribution(kind)
    for ask in (Conditional.mode, lambda dist: dist.sample(4, random_state=0)):
        with pytest.warns(
            SignedDistributionWarning, match=r"^Conditional: 1 of 3 conditions have no"
        ):
            found = ask(dist)
        assert found.dtype == object
        assert set(found[1].ravel() if found[1] is not None else [None]) == {None}
        assert_array_equal(found[[0, 2]], ask(usual)[[0, 2]])


def test_clipped_draws_follow_their_distribution():
    """A chi-square test, of categories."""
    data = fitted("categories", "exact", "none", weighted=False)
    dist = data.model.given(x=data.x[:1])
    clipped = np.maximum(dist.weights()[0], 0)
    p = np.array([clipped[word == data.Y].sum() for word in CATEGORIES]) / clipped.sum()
    drawn = dist.sample(20_000, random_state=0)[0]
    counts = np.array([(drawn == word).sum() for word in CATEGORIES])
    seen = p > 1e-9
    assert counts[~seen].sum() == 0
    assert ((counts - 20_000 * p)[seen] ** 2 / (20_000 * p[seen])).sum() < 20


@pytest.mark.parametrize("kind", ["scalar", "vector", "categories", "mixed"])
def test_nothing_has_the_size_of_conditions_times_support_points(kind):
    n, q = 20_000, 2_000
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 1)), rng.normal(size=(n, 2))
    categories = CATEGORIES[np.digitize(X[:, 0] + 0.5 * Z[:, 0], [-1, 0, 1])]
    mixed = np.column_stack([categories.astype(object), Z[:, 1]])
    kinds = {"scalar": X[:, 0] + Z[:, 0], "vector": Z + X}
    Y = (kinds | {"categories": categories, "mixed": mixed})[kind]
    kernel = {"categories": Delta(), "mixed": Delta(0.5).on(0) * Gaussian(10.0).on(1)}
    model = JointDistribution(
        Gaussian(10.0),
        kernel.get(kind, Gaussian(10.0)),
        tol=1e-2,
        regularization=1e-2,
        random_state=0,
        executor=Executor(workers=2),
    ).fit(X, Y)
    dist = model.given(x=X[:q])
    names = ["mass", "mode", "negative_share", "effective_size", "__repr__"]
    asked = {
        "prob": lambda: dist.prob(lambda z: z.reshape(len(z), -1)[:, 0] == z.flat[0]),
        "sample": lambda: dist.sample(3, random_state=0),
        "score": lambda: model.score(X[:q], Y[:q]),
        "iterate": lambda: [one.mass() for one in dist[:20]],
    }
    if kind in ("scalar", "vector"):
        names += ["mean", "std", "cov", "second_moment", "interval", "to_frame"]
        asked |= {
            "quantile": lambda: dist.quantile([0.1, 0.5, 0.9]),
            "cdf": lambda: dist.cdf(Y[:q]),
            "cdfs": lambda: dist.cdf(Y[:900], grid=True),
            "pdf": lambda: dist.pdf(Y[:q]),
            "logpdf": lambda: dist.logpdf(Y[:20], grid=True),
            "logpdfs": lambda: dist[:20].logpdf(Y[:900], grid=True),
            "expect": lambda: dist.expect(lambda z: z**3),
        }
    asked |= {name: getattr(dist, name) for name in names}
    peaks = {}
    tracemalloc.start()
    try:
        for name, ask in asked.items():
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            ask()
            peaks[name] = (tracemalloc.get_traced_memory()[1] - before) / 1e6
    finally:
        tracemalloc.stop()
    assert max(peaks.values()) < 100, peaks  # megabytes, where weights are 320


def test_a_constant_column_has_no_density(rng):
    x = rng.normal(size=(200, 1))
    model = JointDistribution(Gaussian(1.0), Gaussian(1.0), regularization=1e-3)
    dist = model.fit(x, np.c_[x, np.ones(200)]).given(x=x[:3])
    with pytest.raises(
        ValueError, match=r"^Conditional\.pdf: `y` must be of a variable with"
    ):
        dist.pdf([0.0, 1.0])
    assert (dist.mode()[:, 1] == 1).all()


def test_densities_far_out_are_those_of_the_nearest_gaussian():
    """Also where other points of a block are nearer to other support points."""
    support = np.r_[np.linspace(-1, 1, 90), 60.0]
    kde = density.KernelDensity(support[:, None], np.full(91, 1 / 91), np.array([0.5]))
    points = np.array([-7.0, -6.4, 30.0, 52.0, 66.0])
    away = (points[:, None] - support) / 0.5
    truth = np.exp(-0.5 * away**2).mean(axis=1) / np.sqrt(2 * np.pi) / 0.5
    assert_allclose(kde.at(points[:, None]), truth, rtol=1e-9)


def test_the_frame_of_categories_has_their_probabilities(rng):
    x = rng.normal(size=(200, 1))
    y = np.where(x[:, 0] + rng.normal(size=200) > 0, "up", "down")
    dist = JointDistribution(random_state=0).fit(x, y).given(x=[-1.0, 1.0])
    frame = dist.to_frame()
    assert list(frame.columns) == ["down", "up"]
    assert_allclose(frame["up"], dist.prob(lambda y: y == "up"), atol=1e-12)


def test_novelty_is_what_the_landmarks_miss(rng):
    X = rng.normal(size=(700, 2))
    model = JointDistribution(Gaussian(1.0), Gaussian(1.0), random_state=0).fit(X, X[:, 0])
    Z = np.array([[0.0, 0.0], [3.5, 3.5], [50.0, 0.0]])
    P = model.basis_x_.map.landmarks
    k = model.kernel_x_(Z, P)
    kept = np.einsum("ij,ij->i", k, np.linalg.solve(model.kernel_x_(P, P), k.T).T)
    found = model.given(x=Z).novelty()
    assert_allclose(found, 1 - kept, atol=1e-8)
    assert found[0] < 0.01
    assert_allclose(found[2], 1)
    assert_array_equal(model.marginal("y").novelty(), [0])


def test_the_cdf_at_infinity_is_one(rng):
    X = rng.normal(size=(100, 2))
    for Y, far in ((X[:, 0], np.inf), (X, [np.inf, np.inf])):
        model = JointDistribution(Gaussian(1.0), Gaussian(1.0), regularization=1e-3)
        dist = model.fit(X, Y).given(x=X[:3])
        assert_allclose(dist.cdf(far), 1, atol=1e-9)
        assert_allclose(dist.cdf(-np.asarray(far)), 0, atol=1e-9)
