"""Studies of normal data with several numbers of columns, and exponential models in them."""

import numpy as np
import pandas as pd
import pytest

from experiments import gaussian, gaussian_claims, speed
from experiments.likelihood import EXPONENTIAL, beside, shared
from experiments.moments import Data
from experiments.study import settings_of
from jointdist.datasets import NormalPair


def _count(todo):
    keys = ["d", "n", "models"]
    return pd.DataFrame(todo).groupby(keys)["seed"].nunique().to_dict()


def test_settings_of_normal_data():
    found = _count(settings_of(gaussian.STUDY, "full", 30, [1000, 10**4, 10**6]))
    for d in (1, 2, 3):
        assert {found[d, n, "linear"] for n in (1000, 10**4, 10**6)} == {30}
        assert [found[d, n, EXPONENTIAL] for n in (1000, 10**4)] == [20, 8]
        assert (d, 10**6, EXPONENTIAL) not in found
    few = _count(settings_of(gaussian.STUDY, "quick"))
    assert set(few.values()) == {3}
    assert len(few) == 3 * 2 * 2


def test_settings_of_times():
    found = _count(settings_of(speed.STUDY, "full", 2, [1000, 10**6]))
    assert set(found) == {
        *((d, 1000, models) for d in (3, 10) for models in ("linear", EXPONENTIAL)),
        *((d, 10**6, "linear") for d in (3, 10)),
    }


@pytest.mark.parametrize(
    "study", [gaussian.STUDY, speed.STUDY], ids=lambda study: study.name
)
def test_settings_differ(study):
    todo = settings_of(study, "full", 2)
    keys = {tuple(one[key] for key in study.keys) for one in todo}
    assert len(keys) == len(todo)


def test_length_scales_grow_as_distances_do():
    of_x, of_y = gaussian.with_columns(gaussian.SCALES_JDL, 12)
    np.testing.assert_allclose(of_x, 2 * np.array(gaussian.SCALES_JDL[0]))
    np.testing.assert_allclose(of_y, 2 * np.array(gaussian.SCALES_JDL[1]))
    assert gaussian.with_columns(gaussian.SCALES_CME, 3) == gaussian.SCALES_CME


@pytest.mark.parametrize(("d", "seed"), [(1, 3), (2, 1)])  # strong dependence
def test_exponential_models_are_proper_and_learn(d, seed):
    one = {"d": d, "n": 300, "tol": 1e-5, "pivots": "auto", "tests": 200, "seed": seed}
    (row,) = gaussian.compute({**one, "models": EXPONENTIAL})
    assert row["normalization_error"] < 1e-12
    assert row["indefinite_share"] == 0
    assert row["loss"] < 0.5 * _independent(one)
    assert row["ridge"] > 0
    assert row["rank_x"] >= d
    assert row["rank_y"] >= d


def _independent(one):
    """Return the loss of the second moments of the sample, whatever x is."""
    rng = np.random.default_rng([one["seed"], one["n"]])
    pair = NormalPair.random(one["d"], random_state=one["seed"])
    data = Data.drawn(pair, one["n"], one["tests"], rng)
    truth = data.test.truth
    away, size = (np.square(Z).sum(axis=(1, 2)) for Z in (truth - np.eye(one["d"]), truth))
    return (away / size).mean()


@pytest.fixture
def table():
    """Losses of two models on seeds 0, 1, 2, and of an exponential one on seeds 1, 2, 7."""
    linear = {"A": [5.0, 1.0, 4.0], "B": [6.0, 2.0, 3.0]}
    rows = [
        {"seed": seed, "models": "linear", "model": name, "loss": losses[seed]}
        for name, losses in linear.items()
        for seed in range(3)
    ]
    rows += [
        {"seed": seed, "models": EXPONENTIAL, "model": EXPONENTIAL, "loss": loss}
        for seed, loss in {1: 1.5, 2: 2.5, 7: 99.0}.items()
    ]
    return pd.DataFrame(rows).assign(d=1, n=1000, fit_seconds=3.0)


def test_models_are_compared_on_the_samples_that_all_have(table):
    linear = table[table["models"] == "linear"]
    both = shared(table, linear, ["A", "B"])
    assert both.groupby("model")["seed"].apply(set).to_dict() == {
        "A": {1, 2},
        "B": {1, 2},
        EXPONENTIAL: {1, 2},
    }
    head, _, line = beside(both, ["A", "B", "C"]).splitlines()
    assert head.split(" | ")[-2:] == ["lower than all", "seconds to fit |"]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["1", "1,000", "2"]
    assert [float(cell.split()[0]) for cell in cells[3:6]] == [2.0, 2.5, 2.5]
    assert cells[6:] == ["50%", "3"]


def _losses(tol):
    """Losses of one matrix at three sizes, with the tolerances of each."""
    start = {"JDL": 1.0, "JDL exact": 1.0, "JPDL": 0.5, "CME": 2.0, "CME average": 2.0}
    errors = {"normalization_error": 0.0, "indefinite_share": 0.0, "seed": 0}
    rows = [
        {"d": d, "n": n, "tol": eps, "model": name, "loss": d**2 * loss / n, **errors}
        for d in (1, 2)
        for n, eps in tol.items()
        for name, loss in {**start, "CME": d + 1.0, "JDL tightened": 3.0}.items()
    ]
    return pd.DataFrame(rows)


def test_claims_on_numbers_of_columns():
    (claim,) = gaussian_claims.across(_losses({100: 1e-3, 1000: 1e-3}))
    assert claim.verdict == "holds"
    assert "d = 2 3 (n = 100), 3 (n = 1,000)" in claim.numbers


@pytest.mark.parametrize(
    ("last", "verdict"), [(1e-3, "not run"), (1e-2, "holds in 1 of 3 cases")]
)
def test_the_claim_on_tolerances_needs_several(last, verdict):
    """Losses fall here, as of the models in the claim only that of polynomials should."""
    paper = _losses({100: 1e-3, 1000: last})
    found = gaussian_claims.claims_of(1, paper[paper["d"] == 1], paper[:0])
    (claim,) = [claim for claim in found if "as the tolerance does" in claim.text]
    assert claim.text.startswith("d = 1: ")
    assert claim.verdict == verdict
