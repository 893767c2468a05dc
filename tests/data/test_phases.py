"""Progress by phases: how far a bar is, one bar at a time, and every phase of the fits."""

import io
from contextlib import nullcontext

import numpy as np
import pytest
from rich.console import Console
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.data import phases as module
from jointdist.data.executor import progress
from jointdist.data.phases import phases
from jointdist.models import _regressor_fit

SHARES = {"kernels": 3.0, "rare": 0.0, "residuals": 1.0}


@pytest.fixture
def told(monkeypatch):
    """Collect what a bar is told."""
    found = []

    def recorded(_title, *, verbose):  # noqa: ARG001
        return nullcontext(lambda share, text: found.append((share, text)))

    monkeypatch.setattr(module, "progress", recorded)
    return found


def test_phases_begin_where_those_before_them_end(told):
    with phases("Fit", SHARES, verbose=1) as begin:
        for name in SHARES:
            begin(name)
    assert told == [(0.0, "kernels"), (0.75, "rare"), (0.75, "residuals")]


def test_phases_that_come_again_do_not_move_the_bar_back(told):
    with phases("Fit", SHARES, verbose=1) as begin:
        for name in ("residuals", "kernels"):
            begin(name)
    assert told == [(0.75, "residuals"), (0.75, "kernels")]


def test_a_bar_within_another_is_silent_and_the_next_one_is_not():
    outer, inner, later = (
        Console(file=io.StringIO(), force_terminal=True, width=90) for _ in range(3)
    )
    with progress("outer", verbose=1, console=outer, patience=0.0) as tell:
        tell(0.5, "half")
        with progress("inner", verbose=1, console=inner, patience=0.0) as other:
            other(0.5, "half")
    with pytest.raises(KeyError), progress("broken", verbose=1, console=later):
        raise KeyError
    with progress("later", verbose=1, console=later, patience=0.0) as tell:
        tell(0.5, "half")
    shown = [console.file.getvalue() for console in (outer, inner, later)]
    assert "outer" in shown[0]
    assert "left" in shown[0]
    assert not shown[1]
    assert "later" in shown[2]


def table(kind, n=160):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = x[:, 0] + rng.normal(size=n)
    if kind == "discrete":
        return x, np.round(np.clip(y, -1, 1))
    if kind == "point masses":
        return x, np.maximum(y, 0.0)
    return x, y


BEGUN = {
    "pool": {
        "kernels",
        "boosting",
        "scale",
        "residuals",
        "direct model",
        "weights",
    },
    "discrete": {"forest", "kernels", "direct model", "joint distribution"},
    "point masses": {"kernels", "residuals", "point masses"},
    "folds": {"kernels", "kernels without each fold", "residuals", "weights"},
}


@pytest.mark.parametrize("kind", BEGUN)
def test_every_phase_of_a_fit_begins(told, kind):
    x, y = table(kind)
    groups = np.arange(len(x)) // 2 if kind == "folds" else None
    jd.DistributionRegressor(random_state=0).fit(x, y, groups=groups)
    names = [text for _, text in told]
    assert set(names) >= BEGUN[kind]
    assert set(names) <= set(_regressor_fit._PHASES)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)


def test_users_regressors_are_a_phase(told):
    jd.DistributionRegressor(LinearRegression(), random_state=0).fit(*table("pool"))
    assert [text for _, text in told] == ["regressors", "scale", "residuals"]
