"""The page of forecasts: truths are what they say, verdicts and numbers follow from tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scoringrules
from numpy.testing import assert_allclose
from scipy import stats

from benchmarks.forecasts import simulated, times, truths, variants
from benchmarks.forecasts.claims import against, claims
from benchmarks.forecasts.dists import Normal, Quantiles
from benchmarks.forecasts.methods import METHODS, Method
from benchmarks.forecasts.published import PUBLISHED, SOURCES
from benchmarks.forecasts.report import page
from benchmarks.forecasts.sets import UCI
from benchmarks.forecasts.simulated import SIMULATED, sample
from benchmarks.forecasts.times import CASES, TIMES
from benchmarks.forecasts.variants import ABLATION, VARIANTS
from benchmarks.peers.dists import levels
from jointdist.regression.effort import EFFORTS

ORIGIN = {"machine": "here", "date": "today", "version": "jointdist 0", "revision": "abc"}


@pytest.mark.parametrize("name", truths.FAMILIES)
def test_true_distributions_have_the_crps_of_scoringrules(name):
    family = truths.FAMILIES[name]
    x, y = family.drawn(50, np.random.default_rng(0))
    m, s = family.location(x), family.scale(x)
    expected = {
        "normal": lambda: scoringrules.crps_normal(y, m, s),
        "t2": lambda: scoringrules.crps_t(y, 2, m, s),
        "uniform": lambda: scoringrules.crps_uniform(y, m, m + s),
    }[family.noise]
    if family.log:
        assert_allclose(family.crps(x, y), scoringrules.crps_lognormal(y, m, s))
    else:
        assert_allclose(family.crps(x, y), expected(), atol=1e-9)


@pytest.mark.parametrize("name", truths.FAMILIES)
def test_no_other_distribution_has_a_lower_crps_on_average(name):
    family = truths.FAMILIES[name]
    x, y = family.drawn(4_000, np.random.default_rng(1))
    true = family.crps(x, y).mean()
    wider, higher = family.scale, family.location
    assert true < replace(family, scale=lambda v: 1.3 * wider(v)).crps(x, y).mean()
    assert true < replace(family, location=lambda v: higher(v) + 0.2).crps(x, y).mean()


def test_special_cases_are_what_they_say():
    rng = np.random.default_rng(2)
    x, y = truths.zero_inflated(20_000, rng)
    right = x > 0.9
    assert_allclose(
        (y == 0)[right].mean(), truths.chance_of_zero(x[right]).mean(), atol=0.03
    )
    assert (truths.chance_of_zero(np.array([-1.0, 1.0])).round(2) == [0.74, 0.26]).all()
    _, y = truths.capped(500, rng)
    assert y.max() == truths.CAP
    assert np.mean(y == truths.CAP) > 0.1
    assert (truths.outlier(300, rng)[1] > 1e5).sum() == 1
    x, y = truths.bimodal(5_000, rng)
    assert np.mean(np.abs(y[x > 0.9]) < 0.7) < 0.01
    split = sample("outlier", 300, 3)
    assert split.y.max() > 1e5
    assert split.y_test.max() < 1e2


def test_scores_of_special_cases():
    split = sample("zero-inflated", 50, 0)
    chance = truths.chance_of_zero(split.table.codes[split.test, 0])
    p, steps = levels(400), stats.gamma(2.0).ppf(levels(400))
    values = np.array([np.where(p < c, 0.0, steps) for c in chance])
    exact = simulated._scores("zero-inflated", Quantiles(values), split)
    assert exact["zero_error"] < 0.002
    assert exact["below_zero"] == 0
    wrong = Normal(np.zeros(len(chance)), np.ones(len(chance)))
    found = simulated._scores("zero-inflated", wrong, split)
    assert found["below_zero"] == pytest.approx(0.5, abs=1e-6)
    assert found["zero_error"] == pytest.approx(chance.mean(), abs=1e-6)
    split = sample("capped", 50, 0)
    size = len(split.test)
    assert (
        simulated._scores("capped", Quantiles(np.zeros((size, 9))), split)["beyond_cap"]
        == 0
    )
    assert (
        simulated._scores("capped", Normal(np.zeros(size), np.ones(size)), split)[
            "beyond_cap"
        ]
        == 1
    )


def test_the_worst_decile_is_that_where_intervals_cover_least():
    split = sample("bimodal", 50, 0)
    x = split.table.codes[split.test, 0]
    wide = Normal(np.zeros(len(x)), np.where(x > 0.85, 1e-9, 10.0))
    assert simulated._scores("bimodal", wide, split)["worst_decile"] < 0.05
    fine = Normal(np.zeros(len(x)), np.full(len(x), 10.0))
    assert simulated._scores("bimodal", fine, split)["worst_decile"] == 1


def test_a_case_is_timed_in_a_process_of_its_own(monkeypatch):
    case = replace(CASES["1,000 x 8"], n=80, d=6)
    monkeypatch.setitem(times.CASES, "1,000 x 8", case)
    row = TIMES.compute({"data": "1,000 x 8", "repeat": 0}, METHODS["kernel"], 0.0)
    assert (row["n"], row["outcomes"]) == (80, 1)
    assert row["fit_wall"] > 0
    assert row["crps"] > 0
    Y = times.several(np.random.default_rng(0).random((30, 64)), np.random.default_rng(1))
    assert Y.shape == (30, 8)
    assert TIMES.suits({"data": "1,000,000 x 8", "method": "auto"})
    assert not TIMES.suits({"data": "1,000,000 x 8", "method": "NGBoost"})


def test_variants_change_one_thing_for_a_while():
    kept = EFFORTS["auto"]
    with variants._changed({"direct": False}):
        assert not EFFORTS["auto"].direct
    assert EFFORTS["auto"] is kept
    assert next(iter(VARIANTS)) == "auto"
    assert ABLATION.known is VARIANTS


def scores(changes=(), names=(*UCI, "flights, 20,000", "flights")):
    """Return a made-up table of scores; ours are lowest."""
    crps = {
        "auto": 0.9,
        "fast": 0.92,
        "before": 0.95,
        "CatBoost": 1.0,
        "boosted quantiles": 1.1,
    }
    rows = [
        {
            "protocol": "fresh",
            "data": name,
            "split": split,
            "method": method,
            "settings": "its settings",
            "crps": value * (0.03 if name == "kin8nm" else 1.0) + split / 1e4,
            "coverage": 0.9,
            "width": 1.0,
            "log_score": np.nan,
            "far_median": 10.0 if "flights" in name else np.nan,
            "far_worst": 20.0 if "flights" in name else np.nan,
            "fit_seconds": 1.0,
            "predict_seconds": 0.1,
            "note": np.nan,
            **ORIGIN,
        }
        for name in names
        for split in range(3)
        for method, value in crps.items()
    ]
    table = pd.DataFrame(rows)
    for (data, method), value in dict(changes).items():
        table.loc[(table["data"] == data) & (table["method"] == method), "crps"] = value
    return table


def verdict(start, **tables):
    """Return the verdict of the one target that starts like this."""
    (found,) = [claim for claim in claims(tables) if claim.text.startswith(start)]
    return found.verdict


def test_targets_without_tables_are_not_run():
    assert {claim.verdict for claim in claims({})} == {"not run"}
    assert {claim.numbers for claim in claims({})} == {"–"}


@pytest.mark.parametrize(
    ("changes", "nine", "eleven"),
    [
        ((), "met", "met"),
        ({("wine", "CatBoost"): 0.8}, "missed", "missed"),
        ({("flights", "CatBoost"): 0.8}, "met", "missed"),
    ],
)
def test_verdicts_on_all_sets(changes, nine, eleven):
    table = scores(dict(changes))
    start = "auto: lowest CRPS of all packages that run here on "
    assert verdict(f"{start}9", scores=table) == nine
    assert verdict(f"{start}11", scores=table) == eleven


def test_sets_that_were_not_run_are_not_won():
    start = "auto: lowest CRPS of all packages that run here on 9"
    assert verdict(start, scores=scores(names=UCI[:3])) == "not run on all"
    lost = scores({("yacht", "CatBoost"): 0.1}, names=UCI[:3])
    assert verdict(start, scores=lost) == "missed"


def test_packages_are_compared_on_the_splits_that_both_have():
    table = scores()
    easy = (table["method"] == "CatBoost") & (table["split"] == 0)
    assert against(table[easy | (table["method"] == "auto")], "auto", "CatBoost")[
        "wine"
    ] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [((), "met"), ({("protein", "auto"): 1.5}, "missed")],
)
def test_verdicts_on_one_set(changes, expected):
    assert verdict("auto: CRPS on protein", scores=scores(dict(changes))) == expected


def test_verdicts_beside_the_earlier_default():
    text, fast = "auto: CRPS on no set above 1.00", "fast: CRPS on no set above 1.03"
    assert verdict(text, scores=scores()) == "met"
    worse = scores({("wine", "auto"): 0.99, ("wine", "fast"): 0.99})
    assert verdict(text, scores=worse) == "missed"
    assert verdict(fast, scores=worse) == "missed"
    alone = scores()
    alone = alone[alone["method"] != "before"]
    assert verdict(text, scores=alone) == "not run"
    old = alone.assign(crps=alone["crps"] / 2)
    assert verdict(text, scores=alone, earlier=old) == "missed"
    assert verdict(text, scores=alone, earlier=alone) == "met"


def test_verdicts_on_flights():
    far = scores()
    far.loc[(far["data"] == "flights") & (far["split"] == 1), "far_median"] = 300.0
    start = "Flights: the median error"
    assert verdict(start, scores=scores()) == "met"
    assert verdict(start, scores=far) == "missed"
    lost = scores({("flights", "boosted quantiles"): 0.5})
    assert verdict("Flights: CRPS below", scores=lost) == "missed"


def made(**changes):
    """Return a made-up table of simulations."""
    row = {"method": "auto", "seed": 0, "settings": "", "note": np.nan, **ORIGIN}
    row |= dict.fromkeys(SIMULATED.measures, np.nan)
    rows = [
        row | {"data": "outlier", "n": 300, "coverage": 0.9},
        row | {"data": "zero-inflated", "n": 2000, "zero_error": 0.01, "below_zero": 0.0},
        row | {"data": "capped", "n": 2000, "beyond_cap": 0.0},
        row | {"data": "bimodal", "n": 5000, "worst_decile": 0.87},
        *(
            row | {"data": name, "n": n, "crps": 1.01, "crps_true": 1.0}
            for name in truths.FAMILIES
            for n in (500, 5000)
        ),
    ]
    return pd.DataFrame(
        [own | changes if changes.keys() & _set(own) else own for own in rows]
    )


def _set(row):
    return {key for key, value in row.items() if value == value}  # noqa: PLR0124  # no NaN


@pytest.mark.parametrize(
    ("start", "changes"),
    [
        ("One outlier", {"coverage": 0.5}),
        ("Zero-inflated gamma, n", {"zero_error": 0.2}),
        ("Zero-inflated gamma: P(Y < 0)", {"below_zero": 0.1}),
        ("Capped outcome", {"beyond_cap": 0.01}),
        ("Bimodal", {"worst_decile": 0.8}),
        ("CRPS within 1.05", {"crps": 1.06}),
        ("CRPS within 1.02", {"crps": 1.03}),
    ],
)
def test_verdicts_of_simulations(start, changes):
    assert verdict(start, simulated=made()) == "met"
    assert verdict(start, simulated=made(**changes)) == "missed"


@pytest.mark.parametrize(("spread", "expected"), [(0.01, "met"), (0.02, "missed")])
def test_verdicts_of_seeds(spread, expected):
    rows = [
        {"data": "yacht", "seed": k, "method": "auto", "crps": 1 + spread * (k - 1)}
        for k in range(3)
    ]
    assert verdict("Five seeds", seeds=pd.DataFrame(rows)) == expected


def timed(**seconds):
    """Return a made-up table of times of the case of 1,000 rows."""
    rows = [
        {"data": "1,000 x 8", "method": name.replace("_", "-"), "fit_wall": value}
        for name, value in seconds.items()
    ]
    return pd.DataFrame(rows).assign(memory_mb=600.0)


def test_verdicts_of_times():
    quick = timed(auto=2.0, fast=0.5, NGBoost=4.0, quantile_forest=0.4)
    slow = timed(auto=5.0, fast=1.5, NGBoost=4.0, quantile_forest=0.4)
    for start in ("auto: 1,000 x 8 in", "fast: 1,000 x 8 in", "auto: 1,000 x 8 no slower"):
        assert verdict(start, times=quick) == "met"
        assert verdict(start, times=slow) == "missed"
    assert verdict("fast: 1,000 x 8 within 3", times=slow) == "missed"
    assert verdict("auto: 10,000 x 8 in", times=quick) == "not run"
    wide = quick.assign(data="2,000 x 200")
    assert verdict("auto: 2,000 x 200 in at most 500 MB", times=wide) == "missed"


def test_the_page_shows_means_counts_settings_and_failures():
    table = scores(names=("yacht",)).astype({"note": object})
    table.loc[(table["method"] == "CatBoost") & (table["split"] > 0), ["crps", "note"]] = [
        np.nan,
        "stopped after 9 s",
    ]
    text = page({"scores": table, "simulated": made()})
    assert (
        "| yacht | 3 | 0.92 ± 5.8·10⁻⁵ | **0.9 ± 5.8·10⁻⁵** | 0.95 ± 5.8·10⁻⁵ | 1 (1) | 1.1 ±"
        in text
    )
    assert "CatBoost on yacht, 2 rows of the table: stopped after 9 s." in text
    assert "| auto | its settings | jointdist 0 | abc |" in text
    assert "nan" not in text


def test_published_figures_have_sources():
    assert {own.source for own in PUBLISHED} == set(SOURCES)
    assert all(own.crps > 0 for own in PUBLISHED)
    text = page({})
    for own in PUBLISHED:
        assert f"| {own.data} | {own.method} |" in text


def test_methods_say_their_settings():
    for method in METHODS.values():
        assert isinstance(method, Method)
        assert method.settings
