"""The comparison with other packages: scores are their definitions, wrappers predict."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.spatial.distance import cdist
from sklearn.metrics import brier_score_loss, log_loss

from benchmarks.peers import __main__ as command
from benchmarks.peers import dists, report, study
from benchmarks.peers.data import SETS, Task, load, numbers, present
from benchmarks.peers.densities import kernel_density, least_squares
from benchmarks.peers.methods import METHODS, Method, marginal
from jointdist import JointDistribution, scores

NOISE = 0.5
TRUE_CRPS = NOISE / np.sqrt(np.pi)  # the mean CRPS of the true normal distribution
pytestmark = pytest.mark.filterwarnings("ignore")  # of other packages, about themselves


def task(kind, n=300, q=200):
    """Return rows of a line with normal noise, in one column, two, or as an event."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n + q, 2))
    noise = NOISE * rng.multivariate_normal(np.zeros(2), [[1, 0.9], [0.9, 1]], n + q)
    Y = {"joint": X[:, :1] + noise}.get(kind, X[:, 0] + noise[:, 0])
    threshold = np.quantile(Y[:n], 0.2) if kind == "event" else np.nan
    return Task(kind, X[:n], Y[:n], X[n:], Y[n:], threshold)


def predicted(kind, name):
    """Return a task, and what a method predicts of its test rows."""
    method, own = METHODS[kind][name], task(kind)
    if not method.version:
        pytest.skip(f"{method.package} is not installed")
    return own, method.fit(own, 0)(own.X_test)


def test_crps_is_that_of_equal_weights_on_the_quantiles():
    rng = np.random.default_rng(0)
    values, y = np.sort(rng.normal(size=(6, 19))), rng.normal(size=6)
    near = np.abs(values - y[:, None]).mean(axis=1)
    apart = np.abs(values[:, :, None] - values[:, None]).mean(axis=(1, 2))
    assert_allclose(dists.crps(values, y), near - apart / 2, rtol=1e-12)


def test_quantiles_at_the_common_levels_keep_the_crps():
    rng = np.random.default_rng(1)
    y = rng.normal(size=2000)
    z = np.tile(stats.norm.ppf(dists.LEVELS), (len(y), 1))
    exact = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert_allclose(dists.crps(z, y).mean(), exact.mean(), rtol=2e-3)
    X = rng.normal(size=(200, 1))
    sample = JointDistribution(random_state=0).fit(X, rng.normal(size=200)).marginal("y")
    dist, y = sample[[0] * 50], y[:50]
    found = dists.crps(dist.quantile(dists.LEVELS), y)
    assert_allclose(found.mean(), scores.crps(dist, y).mean(), rtol=2e-3)


def test_true_distributions_are_calibrated_and_cover():
    y = np.random.default_rng(2).normal(size=20_000)
    for k in (20, 199):
        z = np.tile(stats.norm.ppf(dists.levels(k)), (len(y), 1))
        u = dists.pit(z, y, 0)
        assert stats.kstest(u, "uniform").statistic < 0.02
        assert dists.calibration_error(u) < 0.01
        low, high = dists.central(z)
        assert_allclose(((low <= y) & (y <= high)).mean(), 0.9, atol=0.02)
    assert dists.calibration_error(dists.pit(0.1 * z, y, 0)) > 0.15


def test_levels_of_ties_are_uniform():
    y = np.random.default_rng(3).integers(0, 3, 20_000).astype(float)
    values = np.tile(np.repeat([0.0, 1.0, 2.0], 60), (len(y), 1))
    assert stats.kstest(dists.pit(values, y, 0), "uniform").statistic < 0.02


def test_energy_score_is_its_definition_without_pairs_of_a_draw_with_itself():
    rng = np.random.default_rng(4)
    draws, y, unit = rng.normal(size=(3, 30, 2)), rng.normal(size=(3, 2)), [1.0, 5.0]
    for own, outcome, found in zip(
        draws, y, dists.energy_score(draws, y, np.array(unit)), strict=True
    ):
        near = cdist(own / unit, [outcome / unit]).mean()
        apart = cdist(own / unit, own / unit).sum() / (30 * 29)
        assert_allclose(found, near - apart / 2, rtol=1e-12)


def test_losses_of_events_are_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    probability, events = rng.random(50), rng.random(50) < 0.3
    assert_allclose(
        dists.logistic_loss(probability, events).mean(), log_loss(events, probability)
    )
    assert_allclose(
        dists.brier_score(probability, events).mean(), brier_score_loss(events, probability)
    )
    clipped = dists.logistic_loss(np.array([-0.1, 1.1]), np.array([True, True]))
    assert_allclose(clipped, [-np.log(1e-12), 0], atol=1e-15)


def test_quantiles_and_draws_of_a_mixture_follow_its_cdf():
    weights, centres = np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([[-1.0], [3.0]])
    mixture = dists.Mixture(weights, centres, np.array([0.4]))
    for w, row in zip(weights, mixture.quantiles(), strict=True):
        reached = stats.norm.cdf((row[:, None] - centres.T) / 0.4) @ w
        assert_allclose(reached, dists.LEVELS, atol=1e-4)
    many = dists.Mixture(weights[[0] * 200], centres, np.array([0.4])).draws(0)
    assert many.shape == (200, dists.DRAWS, 1)
    assert_allclose(many.mean(), weights[0] @ centres[:, 0], atol=0.03)


def test_least_squares_densities_are_near_the_truth_and_integrate_to_one():
    own = task("univariate", n=2000)
    X, Y = own.X[:, :1], own.Y
    dist = least_squares(X, Y, 0)(own.X_test[:, :1])
    assert dists.crps(dist.quantiles(), own.Y_test).mean() < 1.1 * TRUE_CRPS

    def density(y):
        apart = stats.norm.pdf(y, dist.centres[:, 0], dist.scale[0])
        return float(dist.weights[0] @ apart)

    assert_allclose(integrate.quad(density, -9, 9, limit=200)[0], 1, atol=1e-6)


def test_kernel_densities_are_those_of_statsmodels():
    kde = pytest.importorskip("statsmodels.nonparametric.kernel_density")
    own = task("univariate", n=100, q=5)
    theirs = kde.KDEMultivariateConditional(
        own.Y, own.X, "c", "cc", "normal_reference", rng=0
    )
    fitted = kernel_density(own.X, own.Y, "normal_reference")(own.X_test)
    for row, x in zip(fitted.quantiles(), own.X_test, strict=True):
        reached = theirs.cdf(row[::40, None], np.tile(x, (5, 1)))
        assert_allclose(reached, dists.LEVELS[::40], atol=1e-3)


@pytest.mark.parametrize("name", METHODS["univariate"])
def test_univariate_distributions_beat_the_marginal_and_not_the_truth(name):
    own, values = predicted("univariate", name)
    assert (np.diff(values, axis=1) >= 0).all()
    mean = dists.crps(values, own.Y_test).mean()
    alone = dists.crps(
        METHODS["univariate"]["marginal"].fit(own, 0)(own.X_test), own.Y_test
    ).mean()
    assert 0.9 * TRUE_CRPS < mean <= (alone if name == "marginal" else 0.9 * alone)


@pytest.mark.parametrize("name", METHODS["joint"])
def test_joint_distributions_beat_the_marginal(name):
    own, draws = predicted("joint", name)
    assert draws.shape == (len(own.Y_test), dists.DRAWS, 2)
    mean = dists.energy_score(draws, own.Y_test, own.Y.std(axis=0)).mean()
    alone = METHODS["joint"]["marginal"].fit(own, 0)(own.X_test)
    alone = dists.energy_score(alone, own.Y_test, own.Y.std(axis=0)).mean()
    assert mean <= (alone if name == "marginal" else 0.9 * alone)
    within = np.mean([np.corrcoef(d.T)[0, 1] for d in draws])
    if "independent" in name:
        assert abs(within) < 0.05
    else:
        assert within > 0.4


@pytest.mark.parametrize("name", METHODS["event"])
def test_chances_of_events_beat_their_share(name):
    own, probability = predicted("event", name)
    events = own.Y_test <= own.threshold
    alone = dists.brier_score(own.events.mean(), events).mean()
    mean = dists.brier_score(probability, events).mean()
    assert mean <= (alone if name == "marginal" else 0.8 * alone)


@pytest.mark.parametrize("name", METHODS["factor"])
def test_factors_reach_the_tolerance(name):
    method, own = METHODS["factor"][name], load("low-rank step, small", 0)
    if not method.version:
        pytest.skip(f"{method.package} is not installed")
    rank, error = method.fit(own, 0)(own.X)
    assert 50 < rank < 200
    assert 0 < error <= 1e-3


def test_categories_are_one_hot_encoded():
    table = pd.DataFrame({"x": [1.5, 2.5, 3.5], "tree": ["ash", "birch", "ash"]})
    assert_array_equal(numbers(table), [[1.5, 1, 0], [2.5, 0, 1], [3.5, 1, 0]])


def test_categories_have_their_columns_in_every_split():
    if not present("flights, both delays"):
        pytest.skip("the files of flights are missing")
    own = load("flights, both delays", 0)
    widths = {numbers(X).shape[1] for X in (own.X, own.X_test, own.at_most(50, 0).X)}
    assert len(widths) == 1


def test_fewer_rows_are_a_choice_of_pairs():
    own = task("univariate").at_most(40, 0)
    whole = task("univariate")
    places = [np.flatnonzero(y == whole.Y)[0] for y in own.Y]
    assert len(set(places)) == 40
    assert_array_equal(whole.X[places], own.X)
    assert whole.at_most(None, 0) is whole.at_most(300, 0) is whole


@pytest.mark.parametrize(
    ("name", "size"),
    [("yacht", 308), ("naval, both", 11_934), ("famafrench, d = 5", 15_000)],
)
def test_splits_are_apart_and_of_their_kind(name, size):
    if not present(name):
        pytest.skip(f"{SETS[name].file} is missing")
    own = load(name, 1)
    assert own.kind == SETS[name].kind
    rows = np.column_stack([own.X, own.Y])
    held = np.column_stack([own.X_test, own.Y_test])
    assert len(rows) + len(held) == size
    if name != "yacht":  # some of its rows are equal
        assert not set(map(bytes, rows)) & set(map(bytes, held))
    if own.kind == "event":
        assert_allclose(own.events.mean(), 0.01, atol=1e-4)


def test_a_row_of_the_study_tells_scores_and_costs():
    (row,) = study.compute(
        {"data": "gaussian, 3 + 3, small", "split": 0, "method": "Nystroem + ridge"}
    )
    assert row["loss"] == "energy score"
    assert 0 < row["score"] < 1.2
    assert row["fit_cpu"] > 0
    assert row["train_rows"] == row["rows"] == 300
    assert row["version"].startswith("scikit-learn ")


def test_pages_and_figures_show_losses_as_plainly_as_wins():
    methods = ("JointDistribution", "other", "jointdist's other")
    versions = ("jointdist 1", "other 2", "jointdist 1")
    rows = [
        {
            "data": data,
            "split": split,
            "method": method,
            "kind": "univariate",
            "version": version,
            "rows": size,
            "train_rows": 10 if method == "other" and size > 100 else size,
            "score": score + 0.1 * split,
            "fit_cpu": 1.0,
        }
        for data, size, points in (("won", 100, (1, 2, 3)), ("lost", 200, (4, 2, 1)))
        for split in range(2)
        for method, version, score in zip(methods, versions, points, strict=True)
    ]
    table = pd.DataFrame(rows)
    page = report.markdown(table)
    assert "| JointDistribution | **1.05** | 4.05 |" in page
    assert "| other | 2.05 | 2.05 † |" in page
    assert "won 0.51 (other), lost 1.98 (other). It is ahead on 1 of 2 sets." in page
    assert "random subsample: other 10." in page
    table.loc[0, "score"] = np.nan  # failed on one split
    assert "| JointDistribution | – | 4.05 |" in report.markdown(table)
    (figure,) = report.draw(pd.DataFrame(rows)).values()
    places = [
        ax.get_offsets() for ax in figure.axes[0].collections if len(ax.get_offsets())
    ]
    assert any(np.allclose(xy, [[1, 0], [4.05 / 1.05, 1]]) for xy in places)


def result(method, kind="univariate", data="set", **values):
    """Return a row of a table."""
    row = {"data": data, "split": 0, "method": method, "kind": kind, "rows": 100_000}
    row |= {
        "version": "scikit-learn 1",
        "train_rows": 100_000,
        "score": 1.0,
        "fit_cpu": 1.0,
    }
    return row | values


def test_methods_that_are_not_run_are_named(monkeypatch, capsys):
    known = {
        "here": Method(marginal),
        "absent": Method(marginal, "no-such-package"),
        "slow": Method(marginal, limit=250),
    }
    monkeypatch.setitem(METHODS, "joint", known)
    monkeypatch.setitem(SETS, "nowhere", SETS["naval"]._replace(file="no/such/file"))
    found = list(study.settings({"gaussian, 3 + 3, small": 2, "nowhere": 1}))
    assert [(own["method"], own["split"]) for own in found] == [("here", 0), ("here", 1)]
    assert capsys.readouterr().err.splitlines() == [
        "skipped: absent: no-such-package is not installed (gaussian, 3 + 3, small)",
        "skipped: slow: more than 250 rows (gaussian, 3 + 3, small)",
        "skipped: nowhere: its files are missing (see JOINTDIST_SHARED)",
    ]


def test_help_lists_sets_and_methods(monkeypatch, capsys):
    monkeypatch.setitem(
        METHODS["univariate"], "absent", Method(marginal, "no-such-package")
    )
    with pytest.raises(SystemExit):
        command.main(["--help"])
    printed = capsys.readouterr().out
    assert all(f'"{name}"' in printed for name in SETS)
    assert all(name in printed for own in METHODS.values() for name in own)
    assert "absent (not installed)" in printed


def test_only_selected_sets_are_printed(monkeypatch, capsys, tmp_path):
    selected, other = "low-rank step, small", "gaussian, 3 + 3, small"
    rows = [result("fmca", "factor", selected, rank=9), result("LSCDE", "joint", other)]

    def run(_, todo, path):
        assert {settings["data"] for settings in todo} == {selected}
        path.parent.mkdir()
        pd.DataFrame(rows).to_csv(path, index=False)

    monkeypatch.setattr(command, "run", run)
    command.main(["--preset", "tiny", "--sets", selected, "--results", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "| fmca | 1 | 9 | 1 |" in printed
    assert "LSCDE" not in printed


def test_only_methods_of_the_table_are_described():
    page = report.markdown(pd.DataFrame([result("LSCDE"), result("marginal")]))
    assert "* LSCDE: hyperparameters by validation" in page
    assert "* marginal: " in page
    others = {name for own in METHODS.values() for name in own} - {"LSCDE", "marginal"}
    assert not [name for name in others if name in page]
    assert "Nystroem" not in page
    assert "†" not in page
    few = report.markdown(pd.DataFrame([result("LSCDE", train_rows=10)]))
    assert "same rows, or to a random subsample where marked †" in few
    both = report.markdown(pd.DataFrame([result("quantile-forest, independent")]))
    assert "* quantile-forest: 200 trees" in both
    assert "* independent: " in both


def test_pages_format_numbers():
    rows = [
        result("LSCDE", score=1.12e11, memory_mb=1080.4, predict_cpu=2e-5),
        result("KDE", kind="joint", predict_cpu=1.0),
        result("fmca", kind="factor", rank=241.0, score=9.6e-4),
    ]
    page = report.markdown(pd.DataFrame(rows))
    for cell in ("1.1·10¹¹", "1,080", "2.0·10⁻⁵"):
        assert f"| LSCDE | {cell} |" in page.replace("**", "")
    assert "predict all test rows, that is to compute the scored quantiles" in page
    assert (
        "predict all test rows, that is to compute the 256 scored draws from each" in page
    )
    assert "Normal data of 100,000 rows, tolerance 0.001:\n\n|  | trace error |" in page
    assert "| fmca | 9.6·10⁻⁴ | 241 | 1 |" in page


def test_methods_look_the_same_in_all_figures_and_like_no_other():
    kinds = ("univariate", "joint", "event")
    rows = [result(name, kind) for kind in kinds for name in reversed(METHODS[kind])]
    looks = {}
    for figure in report.draw(pd.DataFrame(rows)).values():
        for dots, name in zip(*figure.axes[0].get_legend_handles_labels(), strict=True):
            shape = dots.get_paths()[0].vertices.tobytes()
            look = shape, dots.get_edgecolors().tobytes()
            looks.setdefault(name, set()).add(look)
    assert set(looks) == {name for kind in kinds for name in METHODS[kind]}
    assert all(len(own) == 1 for own in looks.values())
    assert len(set.union(*looks.values())) == len(looks)


def test_titles_stay_within_figures():
    row = result("LSCDE", "joint", "a set of a rather long name")
    (figure,) = report.draw(pd.DataFrame([row])).values()
    figure.draw_without_rendering()
    titles = [figure._suptitle, *(ax.title for ax in figure.axes)]
    for title, room in zip(titles, [figure, *figure.axes], strict=True):
        box, whole = title.get_window_extent(), room.get_window_extent()
        assert not title.get_text() or whole.x0 <= box.x0 <= box.x1 <= whole.x1
