"""Compressed models: what answers on few support points differ from those on all rows."""

import pickle
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jointdist as jd
from jointdist.kernels import Delta, Gaussian
from jointdist.projection import partition
from jointdist.projection.projected import Projector

WHOLE = 10**9  # all rows are kept
SMALL = 1000
SIGNED = ("none", "tightened")
LEVELS = [0.05, 0.3, 0.5, 0.9]


def _scalar(name, rng, n):
    x = rng.normal(size=n)
    noise = {
        "heavy": lambda: rng.standard_t(2, size=n),
        "cauchy": lambda: rng.standard_cauchy(size=n),
    }
    y = np.sin(x) + 0.5 * noise.get(name, lambda: rng.normal(size=n))()
    if name == "rounded":
        x, y = x.round(2), y.round(4)
    if name == "inflated":
        y = np.where(rng.random(n) < 0.5, 0.0, np.exp(y))
    if name == "counts":
        x, y = x.round(1), rng.poisson(np.exp(0.5 * x)).astype(float)
    w = rng.exponential(size=n) if name == "weighted" else None
    return x[:, None], y, w


def _heavy(name, rng, n):
    z = rng.standard_t(1 if name == "cauchys" else 2, size=(n, 5))
    Y = np.sin(z[:, :1]) + 0.5 * z[:, 2:]
    return z[:, :2], Y, rng.exponential(size=n) if name == "tails" else None


def _vector(name, rng, n):
    x = rng.normal(size=(n, 3 if name == "space" else 1))
    columns = {"space": 3, "ten": 10}.get(name, 2)
    Y = np.sin(x[:, :1]) + 0.5 * rng.normal(size=(n, columns))
    if name == "mixed":
        Y[:, 1] = rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))
    if name == "pairs":
        Y = rng.poisson(np.exp(0.5 * x), size=(n, 2)).astype(float)
    if name == "lattice":
        Y = Y.round(1)
    w = rng.exponential(size=n) if name == "space" else None
    return x, Y, w


SCALARS = ["normal", "heavy", "rounded", "inflated", "weighted", "counts"]
VECTORS = ["plane", "space", "mixed", "pairs"]
DISCRETE = ["counts", "pairs"]
HEAVY = ["tails", "cauchys"]


@cache
def data(name):
    """Return X, Y and weights: more rows than bins, or than rows kept of all leaves."""
    rng = np.random.default_rng(7)
    if name in (*SCALARS, "cauchy"):
        return _scalar(name, rng, 28_000)
    if name in HEAVY:
        return _heavy(name, rng, 17_000)
    return _vector(name, rng, 17_000)


@cache
def model(name, positivity, size=SMALL):
    X, Y, w = data(name)
    of_y = Gaussian(1.5)
    if name == "mixed":
        of_y = Gaussian(1.5).on(0) * Delta().on(1)
        Y = [[a, "yes" if b else "no"] for a, b in Y.tolist()]
    return jd.JointDistribution(
        Gaussian(2.0),
        of_y,
        regularization=1e-3,
        tol=0.2 if name in ("ten", "cauchy", *HEAVY) else 0.05,
        marginals="exact" if positivity != "tightened" else "total",
        positivity=positivity,
        support_size=size,
        random_state=0,
        verbose=0,
    ).fit(X, Y, w)


def asked(name, positivity, side, size=SMALL):
    """Return distributions of a side, the rows of that side, and the error of cdfs."""
    X, Y, _ = data(name)
    given = X[::8000] if side == "y" else Y[::8000]
    if name == "mixed" and side == "x":
        given = [[a, "yes" if b else "no"] for a, b in given.tolist()]
    found = model(name, positivity, size)
    key = "x" if side == "y" else "y"
    error = found.support_error_ if side == "y" else found.support_error_x_
    rows = Y if side == "y" else X
    return found.given(**{key: given}), rows.reshape(len(rows), -1), error


def numeric(name, side):
    return name != "mixed" or side == "x"


def pairs_of(names, kinds):
    cases = [(name, kind) for kind in kinds for name in names]
    return [
        (name, kind, side)
        for name, kind in cases
        for side in "yx"
        if kind != "isotonic" or side == "x" or name in (*SCALARS, "cauchy")
    ]


ALL = (
    pairs_of([*SCALARS, "cauchy", *VECTORS, "lattice"], ["none"])
    + pairs_of(["weighted", "plane"], ["tightened"])
    + pairs_of(SCALARS, ["isotonic"])
    + pairs_of(["normal", "heavy", "inflated", "weighted", "counts"], ["projected"])
    + pairs_of(["plane", "pairs"], ["projected"])
)


@pytest.mark.parametrize(
    ("name", "positivity", "side"),
    [*ALL, ("lattice", "projected", "y")],
)
def test_cdfs_differ_by_no_more_than_the_error_that_is_told(name, positivity, side):
    few, rows, error = asked(name, positivity, side)
    whole, _, exact = asked(name, positivity, side, WHOLE)
    assert exact == 0
    assert 0 <= error < 0.1
    if numeric(name, side):
        points = rows[:: len(rows) // 40]
        points = points[:, 0] if rows.shape[1] == 1 else points
        found, true = (dist.cdf(points, grid=True) for dist in (few, whole))
    else:
        few, whole = (
            [dist.prob(lambda z, k=k: z[:, 1] == k) for k in ("no", "yes")]
            for dist in (few, whole)
        )
        found, true = np.array(few), np.array(whole)
    assert np.abs(found - true).max() <= error + 1e-9


MOMENTS = [case for case in ALL if numeric(case[0], case[2])]
MOMENTS += [("cauchy", "projected", "y")]


@pytest.mark.parametrize(("name", "positivity", "side"), MOMENTS)
def test_means_and_covariances(name, positivity, side):
    few, rows, _ = asked(name, positivity, side)
    whole, _, _ = asked(name, positivity, side, WHOLE)
    sd = rows.std(axis=0)
    sd = sd[0] if len(sd) == 1 else sd
    means, true = (dist.mean() / sd for dist in (few, whole))
    if positivity == "none" or (name in DISCRETE and side == "y"):
        assert_allclose(means, true, rtol=1e-9, atol=1e-9)
        assert_allclose(few.cov() / sd**2, whole.cov() / sd**2, rtol=1e-9, atol=1e-9)
        return
    assert_allclose(means, true, atol=1e-3)
    assert_allclose(few.std() / sd, whole.std() / sd, atol=1e-3)


@pytest.mark.parametrize("side", ["y", "x"])
@pytest.mark.parametrize("name", HEAVY)
def test_projections_of_heavy_tails_are_those_of_all_rows_in_the_same_cells(
    name, side, monkeypatch
):
    X, Y, _ = data(name)
    # Ridges of nearly equal scores would differ by rounding.
    monkeypatch.setattr(Projector, "best_ridge", lambda *_args, **_options: 1e-2)
    few, own = model.__wrapped__(name, "projected"), partition._cut
    sums = few._fitted.kept.sums
    frames = {part.shape[1]: each.leaves for part, each in ((X, sums.x), (Y, sums.y))}

    def cut(support, most):
        z = support.points.table()
        return frames[z.shape[1]].locate(z) if len(z) == len(X) else own(support, most)

    monkeypatch.setattr(partition, "_cut", cut)
    whole = model.__wrapped__(name, "projected", WHOLE)
    given = {"x": X[::500]} if side == "y" else {"y": Y[::500]}
    few, whole = few.given(**given), whole.given(**given)
    sd = (Y if side == "y" else X).std(axis=0)
    assert_allclose(few.mean() / sd, whole.mean() / sd, rtol=1e-9, atol=1e-9)
    units = np.multiply.outer(sd, sd)
    assert_allclose(few.cov() / units, whole.cov() / units, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("side", ["y", "x"])
def test_of_many_columns_means_and_variances_are_exact(side):
    few, _, error = asked("ten", "none", side)
    whole, _, _ = asked("ten", "none", side, WHOLE)
    assert_allclose(few.mean(), whole.mean(), rtol=1e-9, atol=1e-9)
    assert_allclose(few.var(), whole.var(), rtol=1e-9, atol=1e-9)
    assert_allclose(few.cov(), whole.cov(), atol=5 * error)


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("positivity", ["none", "projected"])
def test_nothing_is_lost_of_few_values(name, positivity):
    few, rows, error = asked(name, positivity, "y")
    whole, _, _ = asked(name, positivity, "y", WHOLE)
    assert error == 0
    values = np.unique(rows, axis=0)
    assert few.support_points().reshape(len(values), -1).shape == values.shape
    for value in values[::16]:

        def event(z, at=value):
            return np.all(z.reshape(len(z), -1) == at, axis=1)

        assert_allclose(few.prob(event), whole.prob(event), atol=1e-9)
    assert_array_equal(few.quantile(LEVELS), whole.quantile(LEVELS))
    assert_array_equal(few.mode(), whole.mode())
    if (
        rows.shape[1] == 1
    ):  # draws go along the values; of several columns, along the points
        assert_array_equal(*(d.sample(20, random_state=3) for d in (few, whole)))
    assert_allclose(few.effective_size(), whole.effective_size(), rtol=1e-9)


@pytest.mark.parametrize("size", [400, 401])
def test_the_support_is_the_rows_while_they_are_few(size):
    X, Y, _ = data("plane")
    found = jd.JointDistribution(
        Gaussian(2.0), Gaussian(1.5), regularization=1e-3, support_size=400, verbose=0
    ).fit(X[:size], Y[:size])
    kept = found._fitted.kept
    if size == 400:
        assert_array_equal(found.given(x=X[:1]).support_points(), Y[:400])
        assert (found.support_error_, found.support_error_x_) == (0.0, 0.0)
    assert (kept.rows is None) == (size > 400)
    assert (kept.sums is None) == (size <= 400)


ASKED = (
    pairs_of(["normal", "inflated"], ["none", "projected", "isotonic"])
    + pairs_of(["plane", "mixed", "pairs"], ["none", "projected"])
    + pairs_of(["plane"], ["tightened"])
)


@pytest.mark.parametrize(("name", "positivity", "side"), ASKED)
def test_all_questions_have_answers(name, positivity, side):
    dist, rows, error = asked(name, positivity, side)
    q, d = len(dist), rows.shape[1]
    weights, proper = dist.weights(), positivity not in SIGNED
    assert weights.shape[0] == q
    assert_allclose(weights.sum(axis=1), 1, atol=1e-9 if proper else error + 1e-9)
    assert (weights.min() >= 0) == proper or positivity in SIGNED
    assert_allclose(dist.mass(), 1, atol=1e-9 if positivity != "tightened" else 0.5)
    assert ((dist.novelty() >= 0) & (dist.novelty() <= 1)).all()
    assert (dist.negative_share() >= 0).all()
    assert (dist.effective_size() > 1).all()
    assert len(dist.mode()) == q
    assert dist.sample(3, random_state=0).shape == ((q, 3) if d == 1 else (q, 3, d))
    assert_allclose(dist.expect(lambda z: np.ones(len(z))), 1, atol=error + 1e-9)
    assert len(dist.prob(lambda z: np.arange(len(z)) >= 0)) == q
    if proper:
        report = dist.projection()
        assert report.moved.shape == (q,)
        assert_array_equal(dist.negative_share(), 0)
    if not numeric(name, side):
        return
    sd = rows.std(axis=0) if d > 1 else rows.std()
    gap = np.abs(weights @ dist.support_points() - dist.mean()) / sd
    assert gap.max() < (1e-9 if proper else 2 * error + 1e-9)
    squares = np.diagonal(dist.cov().reshape(q, d, d), axis1=1, axis2=2)
    assert_allclose(dist.var().reshape(q, d), squares)
    ends = dist.interval(0.9)
    assert (ends[:, 0] <= ends[:, 1]).all()
    assert (np.diff(dist.quantile(LEVELS), axis=1) >= 0).all()
    if proper:
        assert (dist.std() > 0).all()


@pytest.mark.parametrize("positivity", ["none", "projected", "isotonic"])
@pytest.mark.parametrize("name", ["normal", "weighted"])
def test_densities_integrate_to_one(name, positivity):
    dist, rows, _ = asked(name, positivity, "y")
    grid = np.linspace(rows.min() - 2, rows.max() + 2, 4001)
    total = np.trapezoid(dist.pdf(grid, grid=True), grid, axis=1)
    # that of a signed distribution is the ratio times a smoothed density
    assert_allclose(total, 1, atol=1e-6 if positivity != "none" else 0.01)
    inside = np.array([0.0, 0.3])
    pdf, log = dist.pdf(inside, grid=True), dist.logpdf(inside, grid=True)
    assert_allclose(np.exp(log), np.maximum(pdf, 0), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "positivity"),
    [("weighted", "none"), ("weighted", "projected"), ("plane", "none"), ("pairs", "none")],
)
def test_the_marginal_counts_rows_and_not_points(name, positivity):
    X, Y, w = data(name)
    found = model(name, positivity)
    size = len(X) if w is None else w.sum() ** 2 / (w @ w)
    for side, rows in ("x", X[:, 0]), ("y", Y):
        dist = found.marginal(side)
        assert_allclose(dist.effective_size(), size, rtol=1e-9)
        assert_allclose(dist.mean()[0], np.average(rows, axis=0, weights=w), atol=1e-9)
        spread = np.average((rows - dist.mean()[0]) ** 2, axis=0, weights=w)
        assert_allclose(dist.var()[0], spread, rtol=1e-9)


@pytest.mark.parametrize(
    "columns",
    [1, 2],
)
def test_the_size_of_a_model_does_not_grow_with_the_number_of_rows(columns):
    rng, sizes = np.random.default_rng(0), []
    for n in (40_000, 120_000):
        X = rng.normal(size=(n, columns))
        Y = np.sin(X[:, :1]) + 0.5 * rng.normal(size=(n, columns))
        found = jd.JointDistribution(
            Gaussian(2.0),
            Gaussian(2.0),
            regularization=1e-2,
            tol=0.05,
            positivity="none",
            support_size=500,
            random_state=0,
            verbose=0,
        ).fit(X, Y)
        sizes.append(len(pickle.dumps(found)))
    assert sizes[1] < 1.1 * sizes[0]
    assert sizes[1] < 8 * 2**20
