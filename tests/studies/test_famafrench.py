"""Tail events: samples, scores, and all models on simulated returns."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from few_candidates import few_candidates
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import brier_score_loss, log_loss

from experiments import famafrench
from experiments.famafrench import CONSTRAINED, FREE, STUDY, Days, Sample
from experiments.study import settings_of
from jointdist import JointDistribution, scores
from jointdist.kernels import Gaussian

ALL = {*FREE, *CONSTRAINED, *famafrench.PROJECTED}
FITTED = sorted(ALL - {"constant"})


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    few_candidates(monkeypatch)


@cache
def tiny():
    """Return the table of the smallest preset, with few candidates."""
    todo = settings_of(STUDY, "tiny")
    return pd.DataFrame([{**one, **row} for one in todo for row in STUDY.compute(one)])


def drawn(d=5, n=500, seed=0):
    return famafrench.sample("simulated", d, n, seed)


def test_sums_are_those_of_the_day_after():
    Z, one = famafrench._simulated(), drawn(d=3)
    for days in one[:3]:
        for x, y in zip(days.X[:20], days.y[:20], strict=True):
            (day,) = np.flatnonzero((Z[:, :3] == x).all(axis=1))
            assert_allclose(y, Z[day + 1, 0] + Z[day + 1, 1] + Z[day + 1, 2])


def test_no_day_is_in_two_parts():
    one = drawn(n=500)
    assert [len(days.y) for days in one[:3]] == [400, 100, famafrench.DAYS - 501]
    every = np.concatenate([days.X for days in one[:3]])
    assert len(np.unique(every, axis=0)) == famafrench.DAYS - 1


@pytest.mark.parametrize("n", [500, 730])
def test_the_threshold_is_the_lowest_sum_that_one_in_a_hundred_does_not_exceed(n):
    one = drawn(n=n)
    y = np.concatenate([one.train.y, one.validation.y])
    assert one.q in y
    assert (y < one.q).mean() < famafrench.LEVEL <= (y <= one.q).mean()


def test_samples_follow_their_seed():
    assert_array_equal(drawn(seed=1).train.X, drawn(seed=1).train.X)
    assert not np.array_equal(drawn(seed=1).train.X, drawn(seed=2).train.X)


def test_simulated_returns_have_heavy_tails_and_lasting_volatility():
    Z = famafrench._simulated()
    total = Z.sum(axis=1)
    size = np.abs(total)
    assert Z.shape == (famafrench.DAYS, 25)
    assert ((total - total.mean()) ** 4).mean() > 6 * total.var() ** 2
    assert np.corrcoef(size[1:], size[:-1])[0, 1] > 0.1


def test_more_runs_go_on_where_fewer_ended():
    few, more = (settings_of(STUDY, "full", runs) for runs in (2, 3))
    assert more[: len(few)] == few
    assert {one["seed"] for one in few} == {0, 1}
    assert {(one["d"], one["n"]) for one in few} == {
        (d, n) for d in (1, 5, 10, 25) for n in (1000, 5000, 10_000, 20_000)
    }


def test_the_loss_is_that_of_conditional_distributions():
    one = drawn()
    kernels = Gaussian(one.units[0]), Gaussian(one.units[1])
    how = {"regularization": 1e-6, "positivity": "none", "random_state": 0}
    model = JointDistribution(*kernels, **how).fit(*one.train)
    X, y = one.validation
    expected = scores.logistic_loss(model.given(X), y, lambda y: y <= one.q)
    probabilities = one.probabilities(model, X)
    assert (probabilities < 0).any()
    assert_allclose(one.loss(model), expected.mean())


def test_scores_are_those_of_scikit_learn_where_probabilities_are_proper(rng):
    probabilities, y = rng.random(50), rng.normal(size=50)
    test = Days(np.empty((50, 1)), y)
    found = famafrench.scored(probabilities, Sample(test, test, test, 0.3))
    assert_allclose(found["loss"], log_loss(y <= 0.3, probabilities))
    assert_allclose(found["brier"], brier_score_loss(y <= 0.3, probabilities))
    assert found["positives"] == (y <= 0.3).sum()
    assert found["negative_share"] == found["above_share"] == found["undefined_share"] == 0


def test_what_is_no_probability_is_counted():
    y = np.array([-1.0, 1.0, 1.0, 1.0, -1.0])
    probabilities = np.array([-0.5, -1e-13, 1.5, np.nan, 1.2])
    test = Days(np.empty((5, 1)), y)
    found = famafrench.scored(probabilities, Sample(test, test, test, 0.0))
    assert found["negative_share"] == 0.2
    assert found["above_share"] == 0.4
    assert found["undefined_share"] == 0.2
    assert_allclose(found["loss"], -2 * np.log(famafrench.ETA) / 5)


def test_every_model_has_a_row_for_each_sample():
    for _, rows in tiny().groupby(["data", "d", "n", "seed"]):
        assert sorted(rows["model"]) == sorted(ALL)
        assert set(rows["positives"]) == {rows["positives"].iloc[0]}
    assert set(tiny()["data"]) == {"simulated"}
    assert np.isfinite(tiny()[["loss", "brier"]]).all(axis=None)


def test_the_constant_model_is_the_share_of_training_days():
    one = drawn(d=1)
    rate = (one.train.y <= one.q).mean()
    events = one.test.y <= one.q
    found = tiny().query("d == 1 and model == 'constant'")["loss"].item()
    assert_allclose(found, log_loss(events, np.full(len(events), rate)))


def test_logistic_regression_is_proper_and_signed_distributions_are_not():
    by = tiny().set_index(["d", "model"])
    wrong = by["negative_share"] + by["above_share"]
    assert (wrong.xs("KLR", level="model") == 0).all()
    assert (wrong.xs("KLR intercept", level="model") == 0).all()
    assert wrong.xs("JDL", level="model").max() > 0


def test_the_tightened_constraint_keeps_probabilities_proper_on_training_days():
    one = drawn()
    family = famafrench._joint(one.units)
    model = famafrench._searched(family, one)["JDL tightened"].model
    probabilities = one.probabilities(model, one.train.X)
    assert probabilities.min() > -1e-12
    assert probabilities.max() < 1 + 1e-12
    assert probabilities.std() > 0


def test_what_was_chosen_is_told():
    fitted = tiny()[tiny()["model"] != "constant"].set_index("model")
    assert set(fitted.index) == set(FITTED)
    assert fitted["scale_x"].isin(famafrench.SCALES_X).all()
    assert (fitted["rank_x"] <= famafrench.HOW["max_rank"]).all()
    assert (fitted["error_x"].between(0, 1) & (fitted["unit_x"] > 0)).all()
    assert (fitted[["ridge", "fit_seconds", "test_seconds"]] > 0).all(axis=None)
    dists = fitted[~fitted.index.str.startswith("KLR")]
    assert dists[["scale_y", "rank_y", "error_y", "unit_y"]].notna().all(axis=None)


def test_figures_have_a_panel_for_each_width_and_a_line_for_each_model():
    figures = STUDY.draw(tiny())
    kinds = ("unconstrained", "constrained", "projected")
    names = {
        f"{what}-{kind}" for what in ("loss", "relative", "negative") for kind in kinds
    }
    assert set(figures) == {*names, "seconds"}
    for kind, models in zip(kinds, (FREE, CONSTRAINED, famafrench.PROJECTED), strict=True):
        panels = figures[f"loss-{kind}"].axes
        assert [panel.get_title() for panel in panels] == [
            f"d = {d}, {kind}" for d in (1, 5)
        ]
        for panel in panels:
            drawn_ = [text.get_text() for text in panel.get_legend().get_texts()]
            assert drawn_ == list(models)


def test_relative_losses_are_those_over_the_constant_of_the_same_sample():
    by = tiny().set_index(["d", "model"])["loss"]
    panels = STUDY.draw(tiny())["relative-constrained"].axes
    for d, panel in zip((1, 5), panels, strict=True):
        shown = {line.get_label(): line.get_ydata() for line in panel.get_lines()}
        for name in CONSTRAINED:
            assert_allclose(float(shown[name][0]), by[d, name] / by[d, "constant"])


def test_returns_are_read_from_the_folder_and_cut_to_the_period(tmp_path, monkeypatch):
    names = [name.replace("_", " ") for name in famafrench.PORTFOLIOS]
    head = ",".join(["", *names, "Mkt-RF", "SMB", "HML", "RF"])
    days = {"19261231": 1, "19270103": 2, "20221230": 3, "20230103": 4}
    rows = [",".join([day, *25 * [f"{r}"], "0,0,0,0.5"]) for day, r in days.items()]
    file = tmp_path / "returns.csv"
    file.write_text("\n".join([head, *rows]) + "\n")
    monkeypatch.setattr(famafrench, "FILE", file)
    Z = famafrench._portfolios.__wrapped__()
    assert_allclose(Z, np.repeat([[1.5], [2.5]], 25, axis=1))


def test_the_data_set_has_the_days_of_the_paper():
    if not famafrench.FILE.exists():
        pytest.skip("data/french is missing (see JOINTDIST_SHARED)")
    assert famafrench._portfolios().shape == (25_249, 25)
