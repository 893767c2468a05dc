"""Evaluation of proper distributions: scores match definitions, verdicts follow tables."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from few_candidates import few_candidates
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from benchmarks.peers.data import SETS
from benchmarks.peers.dists import energy_score
from benchmarks.quality import __main__ as command
from benchmarks.quality import gaussian, methods, uci, vector
from benchmarks.quality.claims import claims
from benchmarks.quality.dists import Learned, Normal, Weighted
from benchmarks.quality.report import page
from benchmarks.quality.section import mean_and_error, settings
from benchmarks.quality.vector import Waves
from experiments.store import read_table
from jointdist import JointDistribution

SECTIONS = {study.name: study for study in command.SECTIONS}


def integrated(cdf, y, low, high, breaks):
    """Return the CRPS by its definition, the squared distance of the cdf to a step."""
    found, _ = integrate.quad(
        lambda v: (cdf(v) - (y <= v)) ** 2, low, high, points=breaks, limit=400
    )
    return found


@pytest.mark.parametrize("y", [-3.0, 0.4, 2.0])
def test_crps_of_normal_distributions_is_its_definition(y):
    dist = Normal(np.array([0.5]), np.array([1.7]))
    exact = integrated(stats.norm(0.5, 1.7).cdf, y, -20, 20, [y])
    assert_allclose(dist.crps(np.array([y])), exact, rtol=1e-7)


@pytest.mark.parametrize("y", [-2.0, 0.3, 1.0, 9.0])
def test_crps_of_weighted_samples_is_its_definition(y):
    values, weights = np.array([3.0, 0.0, 1.0, 1.0]), np.array([2.0, 1.0, 1.0, 4.0])
    dist = Weighted.of([(values, weights)])

    def cdf(v):
        return weights[values <= v].sum() / weights.sum()

    exact = integrated(cdf, y, -3, 10, [0.0, 1.0, 3.0, y])
    assert_allclose(dist.crps(np.array([y])), exact, rtol=1e-7)


def test_intervals_are_between_the_quantiles():
    dist = Normal(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    expected = np.stack(stats.norm([1.0, 2.0], [1.0, 3.0]).interval(0.8), 1)
    assert_allclose(dist.interval(0.8), expected)
    tenths = Weighted.of([(np.arange(10.0), np.ones(10)), (np.arange(2.0), np.ones(2))])
    assert_array_equal(tenths.interval(0.8), [[0.0, 8.0], [0.0, 1.0]])


def test_distributions_of_this_package_are_scored_as_weighted_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    marginal = JointDistribution(random_state=0).fit(X, y).marginal("y")
    ours = Learned(marginal[[0] * 3])
    sample = Weighted.of([(y, np.ones(40))] * 3)
    at = np.array([-1.0, 0.0, 5.0])
    assert_allclose(ours.crps(at), sample.crps(at), rtol=1e-10)
    assert_allclose(ours.interval(0.9), sample.interval(0.9))


def test_weighted_samples_of_a_forest_are_those_of_its_quantiles():
    forests = pytest.importorskip("quantile_forest")
    task = uci.simulated(0)
    dists = methods.quantile_forest(task, 0)(task.X_test)
    model = forests.RandomForestQuantileRegressor(200, min_samples_leaf=5, random_state=0)
    model.fit(task.X, task.Y)
    ends = model.predict(task.X_test, quantiles=[0.05, 0.95], interpolation="inverted_cdf")
    assert_allclose(dists.interval(0.9), ends)


def test_waves_have_the_means_and_correlations_they_say():
    waves, rng = Waves(), np.random.default_rng(0)
    X = np.array([[0.5, 0.4, 0.1, 0.0], [-0.5, 0.4, 0.1, 0.9]])
    draws = waves.draws(X, 40_000, rng)
    assert_allclose(draws.mean(axis=1), waves.mean(X), atol=0.02)
    shared = waves.shared(X)
    for own, part, d in zip(draws, shared, X[:, 3], strict=True):
        expected = np.outer(part, part)
        np.fill_diagonal(expected, 1.0)
        assert_allclose(np.corrcoef(own.T), expected, atol=0.02)
        assert_allclose(own.std(axis=0), 0.4 * np.exp(d / 2), rtol=0.02)
    assert shared[0, 1] * shared[1, 1] < 0  # correlations change their sign


def test_the_energy_score_tells_dependent_columns_from_independent_ones():
    task = Waves().task(10, 1500, 0)
    draws = Waves().truth(task, 0)(task.X_test)
    apart = np.stack([np.roll(draws[..., i], i, axis=1) for i in range(3)], axis=2)
    unit = task.Y_test.std(axis=0)
    true, independent = (energy_score(d, task.Y_test, unit).mean() for d in (draws, apart))
    assert true < 0.99 * independent


def test_means_over_splits_have_errors_and_failures_are_none():
    table = pd.DataFrame(
        {
            "data": ["b", "b", "a", "a"],
            "split": [0, 1, 0, 1],
            "method": ["m"] * 4,
            "crps": [1.0, 3.0, 5.0, np.nan],
        }
    )
    mean, error = mean_and_error(table, "crps")
    assert mean["m"].to_dict() == pytest.approx({"b": 2.0, "a": np.nan}, nan_ok=True)
    assert error["m"]["b"] == pytest.approx(np.std([1, 3], ddof=1) / np.sqrt(2))


def uci_table(ours=0.9, peers=(1.0, 1.2), covered=0.9, sets=9):
    """Return a made-up table of three methods; the first set may differ from the others."""
    names = {"quantile-forest": peers[0], "NGBoost": peers[1], "auto": ours}
    return pd.DataFrame(
        [
            {
                "data": f"set {i}",
                "split": split,
                "method": method,
                "crps": (value[i == 0] if isinstance(value, tuple) else value) + split / 9,
                "coverage": covered,
            }
            for i in range(sets)
            for split in range(2)
            for method, value in names.items()
        ]
    )


def test_pages_tell_errors_failures_and_infinite_widths():
    table = uci_table(sets=1).assign(
        width=np.inf, fit_seconds=1.0, predict_seconds=0.5, date="today", machine="here"
    )
    failed = table.iloc[[0]].assign(method="kernel", crps=np.nan, note="no luck")
    text = page({"proper-uci": pd.concat([table, failed])})
    assert "| set 0 | 2 | 1.06 ± 0.0556 | 1.26 ± 0.0556 | **0.956 ± 0.0556** | – |" in text
    assert "| set 0 | 2 | ∞ | ∞ | ∞ |" in text
    assert "Failed: kernel on set 0: no luck" in text
    assert "below that of both peers on at least 8 of 9 sets. | met | On 1 of 1" in text


def verdicts(name, table):
    """Return the verdicts of targets whose methods were run, by text."""
    found = {claim.text: claim.verdict for claim in claims({name: table})}
    return {text: verdict for text, verdict in found.items() if verdict != "not run"}


@pytest.mark.parametrize(
    ("table", "below", "near", "covers"),
    [
        (uci_table(), "met", "met", "met"),
        (uci_table(ours=1.02), "missed", "met", "met"),
        (uci_table(ours=1.2), "missed", "missed", "met"),
        (uci_table(ours=(0.9, 1.2)), "met", "missed", "met"),  # lost on one set by far
        (uci_table(peers=(1.0, 0.8)), "missed", "missed", "met"),  # to the other peer
        (uci_table(covered=0.85), "met", "met", "missed"),
        (uci_table(ours=(0.9, np.nan)), "met", "missed", "met"),  # failed on a set
    ],
)
def test_verdicts_of_one_column(table, below, near, covers):
    assert list(verdicts("proper-uci", table).values()) == [below, near, covers]


def test_without_a_peer_there_is_no_verdict():
    table = uci_table()
    found = verdicts("proper-uci", table[table["method"] != "NGBoost"])
    assert [text.partition(" ")[0] for text in found] == ["Mean"]


def moments_table(**changed):
    row = {"data": "gaussian", "split": 0, "negative_most": 0.0, "mass_error": 1e-15}
    losses = {"signed": 0.1, "projected": 0.1, "clipped": 0.5}
    rows = [{**row, "method": name, "loss": loss} for name, loss in losses.items()]
    rows[1] |= changed
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("changed", "par", "proper"),
    [
        ({}, "met", "met"),
        ({"loss": 0.11}, "missed", "met"),
        ({"negative_most": 1e-6}, "met", "missed"),
        ({"mass_error": 1e-3}, "met", "missed"),
    ],
)
def test_verdicts_of_moments(changed, par, proper):
    assert list(verdicts("proper-gaussian", moments_table(**changed)).values()) == [
        par,
        proper,
    ]


@pytest.mark.parametrize(
    ("loss", "share", "expected"),
    [
        (0.05, 0.0, ["met", "met", "met", "met"]),
        (0.056, 0.0, ["missed", "met", "met", "met"]),
        (0.05, 0.001, ["met", "met", "met", "missed"]),
    ],
)
def test_verdicts_of_events(loss, share, expected):
    losses = {"projected": loss, "KLR": 0.05, "KLR, intercept": 0.06, "boosting": 0.06}
    row = {"data": "famafrench", "split": 0, "negative_share": share}
    table = pd.DataFrame([row | {"method": m, "loss": v} for m, v in losses.items()])
    assert list(verdicts("proper-famafrench", table).values()) == expected


@pytest.mark.parametrize(("energy", "expected"), [(0.9, "met"), (1.1, "missed")])
def test_verdicts_of_several_columns(energy, expected):
    values = {"quantile-forest, independent": 1.0, "auto": energy}
    rows = [
        {"data": "waves", "split": 0, "method": m, "energy": v} for m, v in values.items()
    ]
    assert list(verdicts("proper-vector", pd.DataFrame(rows)).values()) == [expected]


@pytest.mark.parametrize("study", SECTIONS.values(), ids=lambda study: study.name)
def test_splits_of_development_and_evaluation_are_disjoint(study):
    seen, unseen = (study.presets[name]["sets"] for name in ("development", "evaluation"))
    assert set(seen) == set(unseen)
    assert not any(set(seen[name]) & set(unseen[name]) for name in unseen)


def test_sets_without_files_are_named(monkeypatch, capsys):
    monkeypatch.setitem(SETS, "nowhere", SETS["naval"]._replace(file="no/such/file"))
    assert list(settings({"nowhere": (0, 1), "waves": (3,)})) == [
        {"data": "waves", "split": 3}
    ]
    assert "skipped: nowhere: its files are missing" in capsys.readouterr().err


def test_unknown_sets_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--preset", "tiny", "--sets", "nowhere"])
    assert "--sets must be among ['simulated', " in capsys.readouterr().err


@pytest.mark.parametrize("study", SECTIONS.values(), ids=lambda study: study.name)
def test_a_tiny_evaluation_resumes(study, tmp_path, monkeypatch, capsys):
    few_candidates(monkeypatch)
    monkeypatch.setitem(gaussian.SETS, "gaussian, small", (60, 30))
    monkeypatch.setitem(vector.SETS, "waves, small", (40, 20))
    monkeypatch.setattr(uci, "simulated", partial(uci.simulated, n=50, tests=30))
    (name,) = study.presets["tiny"]["sets"]
    arguments = ["--preset", "tiny", "--sets", name, "--results", str(tmp_path)]
    command.main(arguments)
    printed = capsys.readouterr().out
    path = tmp_path / "tables" / f"{study.name}.csv"
    table, text = read_table(path, study.keys), (tmp_path / "proper.md").read_text()
    assert set(table["data"]) == {name}
    assert "note" not in table
    assert all(method in text for method in table["method"])
    assert printed.count("\n") == len(list(claims({study.name: table})))

    def never(_):
        pytest.fail("existing results are computed again")

    monkeypatch.setattr(command, "SECTIONS", [replace(study, compute=never)])
    command.main(arguments)
    assert (tmp_path / "proper.md").read_text() == text


def test_the_benchmark_of_projections_is_a_script():
    """``make bench`` calls it; tests do not run ``make bench``."""
    call = [sys.executable, command.ROOT / "benchmarks" / "projection.py", "--help"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert "--regressors" in done.stdout
