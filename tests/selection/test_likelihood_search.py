"""Selection of maximum likelihood: what it finds, and what users say is obeyed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jointdist as jd
from jointdist.kernels import Gaussian, Matern


def sample(n=250, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


def exponential(**options):
    options = {"positivity": "exponential", "random_state": 0, "verbose": 0, **options}
    return jd.JointDistribution(**options)


def test_irrelevant_columns_drop_out_and_the_choice_is_recorded():
    X, y = sample()
    model = exponential().fit(X, y)
    found = model.selection_
    scales = np.asarray(model.kernel_x_.scale)
    assert found.chosen.scales == "each"
    assert scales[1:].min() > 2 * scales[0]
    assert model.kernel_x_ == found.chosen.kernel_x
    assert found.score == found.chosen.score
    assert_allclose(model.regularization_, found.regularization)
    assert model.score(*sample(500, seed=1)) > 0.5
    frame = found.to_frame()
    assert {"kernel_x", "score", "chosen"} <= set(frame.columns)
    weights = frame[["weight_outcomes", "weight_squares"]]
    assert len(weights.drop_duplicates()) > 1  # functions of Y are compared, too
    assert tuple(weights[frame["chosen"]].to_numpy()[0]) == found.chosen.located
    fair = frame[frame["folds"] == found.folds]
    assert fair["score"].min() == found.score
    assert (frame["folds"] < found.folds).any()
    assert (fair["error"] > 0).all()
    assert "ranks + " in repr(found)
    assert "kernel_y" not in repr(found)


def test_noise_is_the_marginal():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    model = exponential().fit(X, y)
    assert model.score(rng.normal(size=(500, 3)), rng.normal(size=500)) > -0.02


def test_what_is_given_is_not_selected():
    X, y = sample(120)
    kernel = Matern(1.0, 1.5)
    model = exponential(kernel_x=kernel, regularization=0.01).fit(X, y)
    assert model.kernel_x_ == kernel
    assert model.regularization_ == 0.01
    assert all(c.kernel_x == kernel for c in model.selection_.candidates)
    assert (
        exponential(kernel_x=kernel, kernel_y=Gaussian(1.0), regularization=0.01)
        .fit(X, y)
        .selection_
        is None
    )


def test_ridges_folds_and_criteria_of_users():
    X, y = sample(120, 1)
    how = jd.Selection("log_score", cv=2, regularizations=[1e-1, 1e-3], scales="common")
    found = exponential(selection=how).fit(X, y).selection_
    assert found.criterion == "log_score"
    assert found.folds == 4  # two, twice, as rows are few
    assert {tuple(c.regularizations) for c in found.candidates} == {(1e-1, 1e-3)}
    mine = jd.Selection(lambda dist, out: (dist.mean() - out) ** 2, cv=0.3)
    assert exponential(selection=mine).fit(X, y).selection_.folds == 1
    with pytest.raises(ValueError, match="`criterion` must be another"):
        exponential(selection=jd.Selection("ratio")).fit(X, y)


def test_groups_are_held_out_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 8)
    X = rng.normal(size=(30, 2))[groups]
    y = rng.normal(size=30)[groups] + 0.1 * rng.normal(size=240)
    alone = exponential().fit(X, y)
    together = exponential().fit(X, y, groups=groups)
    new = rng.normal(size=(200, 2)), rng.normal(size=200)
    assert together.score(*new) > alone.score(*new)
    assert together.score(*new) > -0.05


def test_seeds_make_it_reproducible_on_any_number_of_threads():
    X, y = sample(150, 2)
    first = exponential().fit(X, y)
    again = exponential(executor=jd.Executor(workers=1)).fit(X, y)
    assert first.kernel_x_ == again.kernel_x_
    assert_allclose(first.predict(X), again.predict(X), atol=1e-5)


def test_labels_are_selected_for():
    X, y = sample(200, 2)
    model = exponential().fit(X, np.where(y > 0, "up", "down"))
    right = model.given([[0.8, 0.0], [-0.8, 0.0]]).prob(lambda v: v == "up")
    assert right[0] > 0.9
    assert right[1] < 0.1
