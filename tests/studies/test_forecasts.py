"""The benchmark of forecasts: scores are their definitions, splits are disjoint, runs resume."""

import csv

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from benchmarks.forecasts import __main__ as command
from benchmarks.forecasts import measured as measures
from benchmarks.forecasts import scores, section, sets
from benchmarks.forecasts.dists import Draws, Learned, Leaves, Normal, Quantiles
from benchmarks.forecasts.measured import measured, scored
from benchmarks.forecasts.methods import METHODS, Method
from benchmarks.forecasts.section import Request
from benchmarks.forecasts.sets import FLIGHTS, Table, present, read
from benchmarks.forecasts.simulated import SIMULATED
from benchmarks.forecasts.splits import DEVELOPMENT, FRESH, LARGE, Split, load
from benchmarks.forecasts.store import Table as Store
from benchmarks.forecasts.store import merge
from benchmarks.peers.data import load as published
from benchmarks.peers.dists import levels
from jointdist import JointDistribution

needs_data = pytest.mark.skipif(not present("yacht"), reason="needs the folder of data")
Y = np.array([-1.0, 0.2, 3.0])


def line(n=60, q=20):
    """Return a split of rows on a line with normal noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, n + q)
    table = Table(x[:, None], x + 0.2 * rng.standard_normal(n + q))
    return Split(table, np.arange(n), np.arange(n, n + q))


def truth(split, seed):
    """Return the true distributions of that split."""
    del seed
    mean = split.table.codes[split.test, 0]
    return lambda: Normal(mean, np.full(len(mean), 0.2))


def made():
    """Return forecasts of every kind, of a standard normal distribution or a sample."""
    rng = np.random.default_rng(1)
    sample = rng.normal(size=400)
    marginal = JointDistribution(random_state=0).fit(sample[:, None], sample).marginal("y")
    many = stats.norm.ppf(levels(400))
    return {
        "Normal": Normal(np.zeros(3), np.ones(3)),
        "Leaves": Leaves.of([(many, np.ones(400))] * 3),
        "Quantiles": Quantiles(np.tile(many, (3, 1))),
        "Draws": Draws.of(rng.normal(size=(3, 40_000))),
        "Learned": Learned(marginal[[0] * 3]),
    }


@pytest.mark.parametrize("name", ["Normal", "Leaves", "Quantiles", "Draws"])
def test_all_forms_of_a_normal_distribution_answer_alike(name):
    dist, true = made()[name], stats.norm()
    near = {"Normal": 1e-9, "Draws": 0.04}.get(name, 0.01)
    exact = [
        integrate.quad(lambda v, at=y: (true.cdf(v) - (v >= at)) ** 2, -9, 9, points=[y])[0]
        for y in Y
    ]
    assert_allclose(dist.crps(Y), exact, atol=max(near, 1e-6))
    assert_allclose(dist.interval(0.9), [true.interval(0.9)] * 3, atol=2 * near)
    p = np.array([0.1, 0.5, 0.8])
    assert_allclose(dist.quantile(p), [true.ppf(p)] * 3, atol=2 * near)
    assert_allclose(dist.cdf(0.3), true.cdf([0.3] * 3), atol=near)
    if (found := dist.log_score(Y)) is not None:
        assert_allclose(found, -true.logpdf(Y))
    else:
        assert name != "Normal"


def test_distributions_of_this_package_answer_like_their_samples():
    dist = made()["Learned"]
    sample = np.random.default_rng(1).normal(size=400)
    like = Leaves.of([(sample, np.ones(400))] * 3)
    assert_allclose(dist.crps(Y), like.crps(Y), rtol=1e-9)
    assert_allclose(dist.quantile(np.array([0.3, 0.9])), like.quantile([0.3, 0.9]))
    assert_allclose(dist.cdf(0.1), like.cdf(0.1), atol=1e-9)
    assert np.isfinite(dist.log_score(np.array([-1.0, 0.2, 1.0]))).all()


def test_draws_are_scored_without_pairs_of_a_draw_with_itself():
    draws = np.random.default_rng(2).normal(size=(3, 7))
    apart = np.abs(draws[:, :, None] - draws[:, None]).sum(axis=(1, 2)) / (7 * 6)
    near = np.abs(draws - Y[:, None]).mean(axis=1)
    assert_allclose(Draws.of(draws).crps(Y), near - apart / 2)


def test_a_method_is_measured_and_its_failures_are_notes():
    split = line()

    def broken(split, _):
        msg = f"no {len(split.train)}\nmore"
        raise ValueError(msg)

    row = measured(Method(truth, ""), split, 0, scored)
    assert (row["rows"], row["tests"]) == (60, 20)
    z = (split.y_test - split.table.codes[split.test, 0]) / 0.2
    assert row["coverage"] == pytest.approx(np.mean(np.abs(z) <= stats.norm.ppf(0.95)))
    assert row["width"] == pytest.approx(2 * 0.2 * stats.norm.ppf(0.95))
    assert row["log_score"] == pytest.approx(-stats.norm(0, 0.2).logpdf(0.2 * z).mean())
    assert measured(Method(broken, ""), split, 0, scored)["note"] == "no 60"
    few = measured(Method(broken, "", most=30), split, 0, scored)
    assert (few["rows"], few["note"]) == (30, "no 30")
    assert "not run" in measured(Method(broken, "", limit=30), split, 0, scored)["note"]


def test_a_method_is_stopped_in_time():
    def endless(*_):
        while True:
            pass

    row = measured(Method(endless, ""), line(), 0, scored, limit=0.05)
    assert row["note"] == "stopped after 0.05 CPU s"


def test_columns_of_categories_become_labels_or_indicators():
    codes = np.array([[1.5, 1.0], [2.5, 0.0], [3.5, 2.0]])
    table = Table(codes, np.zeros(3), {1: np.array(["a", "b", "c"])})
    rows = np.array([0, 2])
    assert table.given(rows).tolist() == [[1.5, "b"], [3.5, "c"]]
    assert_array_equal(table.numbers(rows), [[1.5, 0, 1, 0], [3.5, 0, 0, 1]])


@needs_data
def test_development_is_on_published_splits_and_reports_on_others():
    for split in (0, 2):
        own, theirs = load("published", "yacht", split), published("yacht", split)
        assert_array_equal(own.y, theirs.Y)
        assert_array_equal(own.table.given(own.test), theirs.X_test)
    fresh, again = load("fresh", "yacht", 0), load("fresh", "yacht", 0)
    assert_array_equal(fresh.test, again.test)
    assert len(fresh.train) == len(own.train) == 277
    for other in range(20):
        assert set(load("published", "yacht", other).test) != set(fresh.test)
    held = [frozenset(load("fresh", "yacht", split).test) for split in FRESH["yacht"]]
    assert len(set(held)) == 10
    assert set(DEVELOPMENT) <= set(FRESH)


@needs_data
@pytest.mark.parametrize("name", [name for name in LARGE if not name.startswith(FLIGHTS)])
def test_a_quarter_of_the_rows_of_large_sets_is_for_testing(name):
    split = load("large", name, 1)
    rows = int(name.partition(", ")[2].replace(",", ""))
    assert len(split.train) + len(split.test) == rows
    assert len(split.test) == round(rows / 4)
    assert not set(split.train) & set(split.test)


@pytest.mark.skipif(not present(FLIGHTS), reason="needs the folder of data")
def test_flights_have_the_most_delayed_departures_and_two_labels():
    split = load("fresh", "flights, 20,000", 0)
    assert (len(split.train), len(split.test)) == (20_000, 20_000)
    delays = split.table.codes[split.test, 0]
    assert_array_equal(delays[split.far()], np.sort(delays)[::-1][:5])
    assert [len(own) for own in split.table.categories.values()] == [16, 3]
    assert len(read(FLIGHTS).y) == 327_346


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_tables_keep_what_an_interrupted_run_has_written(tmp_path):
    path, keys, columns = tmp_path / "a.csv", ("data", "split"), ("data", "split", "crps")
    row = {"data": "flights, 20,000", "split": 10, "crps": 1 / 3}
    with Store(path, keys, columns) as table:
        table.add(row)
        table.add({"data": "b", "split": 2, "crps": float("nan")})
        assert len(rows_of(path)) == 2  # before it is closed
    with path.open("a", encoding="utf-8") as file:
        file.write("c,3,0.1")  # cut short
    with Store(path, keys, columns) as table:
        assert row in table
        assert {"data": "c", "split": 3} not in table
        table.add({"data": "b", "split": 2, "crps": 0.5})
        with pytest.raises(RuntimeError, match="another run is writing"):
            Store(path, keys, columns)
        with pytest.raises(ValueError, match="has no columns"):
            table.add({"data": "b", "split": 2, "score": 0.5})
    found = [(own["data"], own["split"], own["crps"]) for own in rows_of(path)]
    assert found == [("b", "2", "0.5"), ("flights, 20,000", "10", "0.333333")]
    other = tmp_path / "b.csv"
    with Store(other, keys, columns) as table:
        table.add(row | {"crps": 0.25})
    assert merge(path, [other], keys, columns) == 1
    assert [own["crps"] for own in rows_of(path)] == ["0.5", "0.25"]


@needs_data
def test_a_tiny_run_resumes_and_prints_means(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        METHODS, "fast", Method(lambda split, _: lambda: flat(split), "flat")
    )
    arguments = ["--preset", "tiny", "--methods", "fast", "--results", str(tmp_path)]
    command.main(arguments)
    assert "yacht  1" in capsys.readouterr().out
    (row,) = rows_of(scores.SCORES.path(tmp_path))
    assert (row["data"], row["method"], row["settings"]) == ("yacht", "fast", "flat")
    assert float(row["crps"]) > 0
    assert row["revision"]

    def never(*_):
        pytest.fail("existing results are computed again")

    monkeypatch.setitem(METHODS, "fast", Method(never, "flat"))
    command.main(arguments)
    assert "1 of 1 are in the table" in capsys.readouterr().err


def flat(split):
    """Return the same normal distribution for all test rows."""
    size = len(split.test)
    return Normal(np.full(size, split.y.mean()), np.full(size, split.y.std()))


def test_requests_choose_methods_sets_and_splits():
    one = Request("development", ["kernel"], ["yacht"], [4, 5])
    found = list(scores.SCORES.settings(one))
    if present("yacht"):
        assert [own["split"] for own in found] == [4, 5]
        assert {(own["protocol"], own["method"]) for own in found} == {
            ("published", "kernel")
        }


def test_rows_of_other_revisions_are_computed_again_on_request(tmp_path, monkeypatch):
    monkeypatch.setitem(
        METHODS, "fast", Method(lambda split, _: lambda: flat(split), "flat")
    )
    case = {"data": "capped", "n": 60, "seed": 0}
    request, path = Request("tiny", ["fast"]), SIMULATED.path(tmp_path)
    for revision, refresh, expected in (("a", 0, "a"), ("b", 0, "a"), ("b", 1, "b")):
        monkeypatch.setattr(section, "revision", lambda own=revision: own)
        monkeypatch.setattr(measures, "revision", lambda own=revision: own)
        section.run(SIMULATED, request, tmp_path, refresh=bool(refresh))
        (row,) = rows_of(path)
        assert row["revision"] == expected
    assert {name: row[name] for name in case} == {"data": "capped", "n": "60", "seed": "0"}


def test_packed_sets_are_those_of_their_files(tmp_path, monkeypatch):
    codes = np.array([[1.5, 1.0], [2.5, 0.0]])
    table = Table(codes, np.array([3.0, 4.0]), {1: np.array(["a", "b"])})
    monkeypatch.setattr(sets, "read", lambda _: table)
    sets.pack(tmp_path / "data.npz")
    monkeypatch.undo()
    monkeypatch.setenv(sets.PACKED, str(tmp_path / "data.npz"))
    sets.read.cache_clear()
    found = sets.read("yacht")
    assert_array_equal(found.codes, codes)
    assert_array_equal(found.y, table.y)
    assert found.given(np.array([0])).tolist() == [[1.5, "b"]]
    assert sets.present(FLIGHTS)
    sets.read.cache_clear()


def test_unknown_methods_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--preset", "tiny", "--methods", "nothing"])
    assert "--methods must be among ['fast', 'auto'" in capsys.readouterr().err
