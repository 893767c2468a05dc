"""X given outcomes, by a model of Y given x: Bayes' rule, both marginals, known truth."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import jointdist as jd
from jointdist.errors import OutOfDistributionWarning, ToleranceWarning
from jointdist.kernels import Delta, Gaussian
from jointdist.models import backwards

DR = jd.DistributionRegressor
RESIDUALS = jd.JointDistribution(Gaussian(1.0), Gaussian(1.0), regularization=1e-3)
QUICK = {"kernel_x": Gaussian(2.0), "distribution": RESIDUALS, "verbose": 0}


def quick(regressor="kernel", **kwargs):
    return DR(regressor, **(QUICK | {"random_state": 0} | kwargs))


def rows(n, d=1, r=1, seed=0):
    """Return rows of linear outcomes with normal noise, as wide as the signal."""
    rng = np.random.default_rng(seed)
    X, A = rng.normal(size=(n, d)), np.array([[1.0, 0.5], [0.8, -1.0]])[:r, :d]
    Y = X @ A.T + rng.normal(size=(n, r)) @ np.array([[1.0, 0.5], [0.0, 0.9]])[:r, :r]
    return X, Y[:, 0] if r == 1 else Y


def truth(X_at, d, r):
    """Return the means and standard deviations of normal X given outcomes."""
    A = np.array([[1.0, 0.5], [0.8, -1.0]])[:r, :d]
    L = np.array([[1.0, 0.5], [0.0, 0.9]])[:r, :r]
    C = A @ A.T + L.T @ L
    gain = A.T @ np.linalg.inv(C)
    return X_at.reshape(len(X_at), -1) @ gain.T, np.sqrt(np.diag(np.eye(d) - gain @ A))


@pytest.fixture(scope="module")
def model():
    return quick().fit(*rows(300))


@pytest.fixture(scope="module")
def pooled():
    return DR(effort="fast", random_state=0, verbose=0).fit(*rows(400, 2))


class TestNormal:
    """Jointly normal rows, of which all is known."""

    @pytest.mark.parametrize(
        ("d", "r", "seed"),
        [(1, 1, 0), (1, 1, 1), (2, 1, 0), (2, 1, 1), (1, 2, 0), (2, 2, 0)],
    )
    def test_means_and_deviations(self, d, r, seed):
        X, Y = rows(2000, d, r, seed)
        model = DR("kernel", effort="fast", random_state=seed, verbose=0).fit(X, Y)
        other = jd.JointDistribution(random_state=seed, verbose=0).fit(X, Y)
        _, y = rows(60, d, r, 10 + seed)
        y = y[
            (np.abs(y.reshape(60, -1) / Y.reshape(2000, -1).std(axis=0)) < 1.5).all(axis=1)
        ]
        mean, sd = truth(y, d, r)
        found, there = model.given(y=y), other.given(y=y)

        def missed(dist):
            return np.sqrt(np.mean(((dist.mean().reshape(-1, d) - mean) / sd) ** 2))

        assert missed(found) < (0.12 if r == 2 else 0.08)
        assert missed(found) < missed(there) + 0.02
        ratio = found.std().reshape(-1, d) / sd
        assert 0.97 < ratio.mean() < 1.08
        assert np.abs(ratio - 1).max() < 0.25
        apart = found.mean().reshape(-1, d) - there.mean().reshape(-1, d)
        assert np.sqrt(np.mean((apart / sd) ** 2)) < 0.2

    def test_quantiles_probabilities_and_draws(self, pooled):
        y = np.array([-1.5, 0.0, 1.5])
        dist = pooled.given(y=y)
        assert dist.encoding.width == 2
        draws = dist.sample(4000, random_state=0)
        assert draws.shape == (3, 4000, 2)
        assert_allclose(draws.mean(axis=1), dist.mean(), atol=0.08)
        p = dist.prob("x0 > 0.5 and x1 < 1")
        inside = (draws[..., 0] > 0.5) & (draws[..., 1] < 1)
        assert_allclose(inside.mean(axis=1), p, atol=0.03)
        low, high = np.moveaxis(dist.quantile([0.05, 0.95]), 1, 0)
        assert (low < dist.median()).all()
        assert (dist.median() < high).all()
        assert (dist.negative_share() == 0).all()
        grid = np.linspace(-6, 6, 2001)
        assert_allclose(dist["x0"].pdf(grid, grid=True).sum(axis=1) * 0.006, 1.0, atol=0.01)


def weights_of(model, y, **how):
    """Return the weights of the support points of X in the order of these, and the points."""
    dist = model.given(y=y, **how)
    return dist.weights(), np.array(dist.support_points(), dtype=float).reshape(
        dist.weights().shape[1], -1
    )


class TestBayes:
    """The definition, point by point."""

    @pytest.mark.parametrize("name", ["model", "pooled"])
    def test_weights_are_prior_times_density(self, name, request):
        model = request.getfixturevalue(name)
        y = np.array([-1.0, 0.3, 2.0])
        w, points = weights_of(model, y)
        p = np.stack([model.given(x=[x]).pdf(y, grid=True)[0] for x in points])
        assert_allclose(w, (p / p.sum(axis=0)).T, rtol=1e-6, atol=1e-12)

    def test_of_two_columns(self):
        X, Y = rows(200, 1, 2)
        model = quick().fit(X, Y)
        y = np.array([[0.5, 0.5], [-1.0, 1.0]])
        w, points = weights_of(model, y)
        p = model.given(x=points).pdf(y, grid=True)
        assert_allclose(w, (p / p.sum(axis=0)).T, rtol=1e-6, atol=1e-12)

    def test_sample_weights_are_repeated_rows(self):
        """A linear regressor and a fixed fold, so that both fits are the same."""
        X, y = rows(120)
        w = np.random.default_rng(1).integers(1, 4, size=120)
        model = quick()
        model.fit(X, y, sample_weight=w)
        (found, points), shares = weights_of(model, [0.5]), w[np.argsort(X[:, 0])]
        p = model.given(x=points).pdf([0.5], grid=True)[:, 0]
        assert_allclose(found[0], shares * p / (shares @ p), rtol=1e-8)
        again = quick().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        there, same = weights_of(again, [0.5])
        assert_array_equal(points, same)
        assert np.abs(there - found).sum() < 0.02

    def test_total_probability(self, model):
        """Averaged over the model's own marginal of Y, answers give back the sample."""
        edges = np.linspace(-9, 9, 721)
        points = np.array(model.given(y=[0.0]).support_points())
        p = model.given(x=points[:, None]).pdf(edges, grid=True)
        marginal = p.mean(axis=0) * (edges[1] - edges[0])
        assert marginal.sum() == pytest.approx(1, abs=1e-3)
        some = marginal > 1e-9
        w = model.given(y=edges[some]).weights()
        assert_allclose(len(points) * (marginal[some] @ w), 1.0, atol=5e-3)


class TestRaked:
    """Both marginals are those of the sample."""

    @pytest.mark.parametrize("weighted", [False, True])
    def test_averages_over_outcomes_are_the_sample(self, weighted):
        X, y = rows(200)
        v = np.random.default_rng(0).integers(1, 4, size=200) if weighted else np.ones(200)
        model = quick().fit(X, y, sample_weight=v if weighted else None)
        w = model.given(y=y, marginals="exact").weights()
        order = np.argsort(X[:, 0])
        wanted = v[order] / v.sum()
        assert_allclose(v / v.sum() @ w, wanted, rtol=1e-8)
        free = v / v.sum() @ model.given(y=y).weights()
        assert np.abs(free / wanted - 1).max() > 1e-3

    def test_forecasts_average_to_the_outcomes(self, model):
        """The raked joint weights, as a model of Y: the other margin."""
        X, y = rows(300)
        w = model.given(y=y, marginals="exact").weights()  # p(x | y)
        joint = w / len(y)
        assert_allclose(joint.sum(axis=1), 1 / len(y), rtol=1e-10)
        points = np.sort(X[:, 0])[:, None]
        likely = model.given(x=points).logpdf(y, grid=True).T
        some = np.ix_(np.abs(y) < 1, np.abs(points[:, 0]) < 1)  # where no weight is tiny
        factors = np.log(joint[some]) - likely[some]  # of the form a(x) + b(y)
        rest = factors - factors.mean(axis=0) - factors.mean(axis=1, keepdims=True)
        assert_allclose(rest, -factors.mean(), atol=1e-6)

    def test_many_outcomes_are_met_by_those_that_stand_for_them(self, monkeypatch):
        monkeypatch.setattr(backwards, "_RAKED", 64)
        for r in (1, 2):
            X, Y = rows(300, 1, r)
            model = quick().fit(X, Y)
            w = model.given(y=Y, marginals="exact").weights().mean(axis=0)
            free = model.given(y=Y).weights().mean(axis=0)
            assert np.abs(300 * w - 1).mean() < np.abs(300 * free - 1).mean() + 0.01
            assert np.abs(300 * w - 1).mean() < 0.1

    def test_an_outcome_far_from_all_forecasts_takes_no_part(self):
        X, y = rows(150)
        model = quick().fit(X, y)
        fitted = model._model
        moved = np.append(y, 1e4)
        outcomes = jd.distributions.support_points.SupportPoints(
            jd.data.table.Rows(moved[:, None], "test", "Y"),
            fitted.marginal.encoding,
            None,
            fitted.marginal.executor,
        )
        found = backwards.Backwards.of(fitted, outcomes, "test")
        w = found.of_x(outcomes.rows, "exact").weights()
        assert_allclose(w.mean(axis=0), 1 / 150, rtol=1e-8)
        assert_allclose(w[-1], 1 / 150, rtol=1e-8)

    def test_forecasts_too_narrow_to_rake(self, monkeypatch):
        monkeypatch.setattr(backwards, "_RAKED", 8)
        X, _ = rows(200)
        model = quick(LinearRegression()).fit(
            X, X[:, 0] + 1e-4 * rows(200, seed=1)[0][:, 0]
        )
        with pytest.warns(ToleranceWarning, match="marginals are met up to"):
            w = model.given(y=[X[0, 0]], marginals="exact").weights()
        assert np.isfinite(w).all()


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=240) > 0, "high", "low")
    dist = jd.JointDistribution(Gaussian(1.0), Delta(), regularization=1e-3)
    return DR("kernel", distribution=dist, random_state=0, verbose=0).fit(X, y), X, y


class TestDiscrete:
    """Probabilities take the place of densities."""

    def test_the_answer_is_that_of_the_direct_model(self, labelled):
        model, _, _ = labelled
        found, there = (
            each.given(y=["low", "high"]) for each in (model, model.distribution_)
        )
        assert_array_equal(found.weights(), there.weights())
        low, high = found.mean()[:, 0]
        assert low < -0.5
        assert high > 0.5

    def test_raked(self, labelled):
        model, X, y = labelled
        w = model.given(y=["low", "high"], marginals="exact").weights()
        share = np.array([(y == "low").mean(), (y == "high").mean()])
        assert_allclose(share @ w, 1 / 240, rtol=1e-8)
        points = np.array(model.given(y=["low"], marginals="exact").support_points())
        dist = model.given(x=points)
        p = np.stack([dist.prob(f"y == '{name}'") for name in ("low", "high")])
        fine = (p > 1e-3).all(axis=0)
        factors = w[:, fine] / p[:, fine]  # of the form a(x) b(y)
        assert_allclose(factors[0] / factors[1], factors[0, 0] / factors[1, 0], rtol=1e-6)
        assert set(map(tuple, points)) == set(map(tuple, X))

    def test_an_embedding_as_the_direct_model(self, labelled):
        _, X, y = labelled
        embedding = jd.ConditionalMeanEmbedding(Gaussian(1.0), Delta(), regularization=1e-3)
        model = DR("kernel", distribution=embedding, random_state=0, verbose=0).fit(X, y)
        dist = model.given(y=["low", "high"])
        assert_allclose(dist.weights().sum(axis=1), 1)
        assert (dist.weights() >= 0).all()
        assert dist.mean()[0, 0] < -0.5


class TestFar:
    """Outcomes that no forecast reaches."""

    @pytest.mark.parametrize("how", ["free", "exact"])
    @pytest.mark.parametrize("name", ["model", "pooled"])
    def test_x_has_its_marginal_distribution(self, name, how, request):
        model = request.getfixturevalue(name)
        with pytest.warns(OutOfDistributionWarning, match="2 of 2 rows of Y .* far from"):
            dist = model.given(y=[1e5, -1e250], marginals=how)
        assert_array_equal(dist.novelty(), 1.0)
        n = dist.weights().shape[1]
        assert_allclose(dist.weights(), 1 / n, rtol=1e-8)
        assert (dist.diagnostics()["n_outside"] == 1).all()

    def test_outcomes_of_the_sample_are_trusted(self, model, pooled):
        assert (model.given(y=rows(300)[1]).novelty() == 0).all()
        assert (pooled.given(y=rows(400, 2)[1]).novelty() == 0).all()

    def test_the_way_there(self, model):
        """Weights follow the nearest forecasts, then fade; numbers stay finite."""
        y = np.linspace(0, 30, 61)
        with pytest.warns(OutOfDistributionWarning):
            dist = model.given(y=y)
        novelty = dist.novelty()
        assert (np.diff(novelty) >= -1e-12).all()
        assert novelty[0] == 0
        assert novelty[-1] == 1
        assert np.isfinite(dist.mean()).all()
        assert_allclose(dist.weights().sum(axis=1), 1)

    def test_heavy_tails_are_no_surprise(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 1))
        y = X[:, 0] + rng.standard_t(2, size=400)
        model = quick().fit(X, y)
        new = X[:, 0] + rng.standard_t(2, size=400)
        assert (model.given(y=y).novelty() == 0).all()
        assert (model.given(y=new).novelty() > 0.5).mean() < 0.01


@pytest.fixture(scope="module")
def flights():
    rng = np.random.default_rng(0)
    n = 250
    X = pd.DataFrame(
        {
            "hour": rng.integers(0, 24, size=n),
            "origin": rng.choice(["EWR", "JFK", "LGA"], size=n),
            "wind": np.where(rng.random(n) < 0.2, np.nan, rng.gamma(2.0, size=n)),
        }
    )
    late = X["hour"] + 10.0 * (X["origin"] == "JFK") + 4 * rng.normal(size=n)
    Y = pd.DataFrame({"delay": late, "taxi": rng.gamma(3.0, size=n) + 0.2 * late})
    model = DR("kernel", distribution=RESIDUALS, random_state=0, verbose=0).fit(X, Y)
    return model, X, Y


class TestTables:
    """Names, categories, missing entries, in and out."""

    def test_answers_are_in_the_units_of_users(self, flights):
        model, X, _ = flights
        dist = model.given(y={"taxi": 8.0, "delay": 30.0})
        assert dist.encoding.names == ("hour", "origin", "wind")
        p = dist.prob("origin == 'JFK'")[0]
        assert p > 0.75
        assert dist.prob("origin == 'JFK' and hour > 10")[0] <= p
        assert dist["hour"].mean()[0] > X["hour"].mean() + 3
        assert dist["hour"].is_discrete
        assert 0.02 < dist.prob("wind is None")[0] < 0.6
        assert set(dist["origin"].sample(50, random_state=0)[0]) <= {"EWR", "JFK", "LGA"}

    def test_many_questions(self, flights):
        model, _, Y = flights
        some = Y.iloc[[3, 40, 7]]
        dist = model.given(y=some)
        frame = dist["hour"].to_frame()
        assert list(frame.index) == [3, 40, 7]
        one = model.given(y=some.iloc[1])
        assert_allclose(one.weights()[0], dist.weights()[1], rtol=1e-10)
        swapped = model.given(y=some[["delay", "taxi"]].to_numpy())
        assert_allclose(swapped.weights(), dist.weights())
        assert_allclose(dist[1:].weights(), dist.weights()[1:])
        assert_allclose(dist[[2]]["hour"].mean(), dist["hour"].mean()[2:])

    def test_frames(self, flights):
        model, _, Y = flights
        model = pickle.loads(pickle.dumps(model))  # noqa: S301
        dist = model.set_output(transform="pandas").given(y=Y[:2])
        assert list(dist["hour"].mean().index) == [0, 1]

    def test_support_points_are_the_rows_seen(self, flights):
        model, X, Y = flights
        points = pd.DataFrame(model.given(y=Y[:1]).support_points(), columns=X.columns)
        seen = X.drop_duplicates().sort_values(list(X)).reset_index(drop=True)
        found = (
            points.astype(X.dtypes.to_dict()).sort_values(list(X)).reset_index(drop=True)
        )
        pd.testing.assert_frame_equal(found, seen)

    def test_few_values_of_x_are_a_discrete_variable(self):
        rng = np.random.default_rng(0)
        x = rng.integers(0, 2, size=300)
        y = 3.0 * x + rng.normal(size=300)
        model = quick().fit(x[:, None].astype(float), y)
        dist = model.given(y=[0.0, 3.0])
        assert dist.is_discrete
        p = 1 / (1 + np.exp(4.5 - 3 * np.array([0.0, 3.0])))
        assert_allclose(dist.prob("x == 1"), p, atol=0.05)
        assert_array_equal(dist.mode(), [0, 1])


class TestContract:
    """Refusals, files, pipelines, blocks."""

    def test_refusals(self, model):
        x, y = rows(3)
        with pytest.raises(
            ValueError, match=r"`x, y, where` must be given one of them.*x and y"
        ):
            model.given(x=x, y=y)
        with pytest.raises(
            ValueError, match=r"`x, y, where` must be given one of them.*none"
        ):
            model.given()
        with pytest.raises(ValueError, match="given: `marginals` must be one of"):
            model.given(y=y, marginals="total")
        with pytest.raises(ValueError, match='`marginals` must be "free" without `y`'):
            model.given(x=x, marginals="exact")
        with pytest.raises(ValueError, match="given: `y` must"):
            model.given(y=np.zeros((3, 2)))
        with pytest.raises(ValueError, match=r"given: `y` must be complete"):
            model.given(y=[0.0, np.nan])

    @pytest.mark.parametrize("name", ["model", "pooled"])
    def test_files(self, name, request, tmp_path):
        model, y = request.getfixturevalue(name), [-0.5, 1.0]
        wanted = [model.given(y=y, marginals=how).weights() for how in ("free", "exact")]
        model.save(tmp_path / "model.jd")
        again = jd.load(tmp_path / "model.jd")
        found = [again.given(y=y, marginals=how).weights() for how in ("free", "exact")]
        assert_allclose(found, wanted, rtol=1e-12)

    def test_pickles_hold_no_answers(self, model):
        before = len(pickle.dumps(quick().fit(*rows(300))))
        model.given(y=[0.0], marginals="exact")
        assert len(pickle.dumps(model)) < 1.1 * before

    def test_at_the_end_of_a_pipeline(self, model):
        X, y = rows(300)
        pipe = make_pipeline(StandardScaler(), quick()).fit(X, y)
        found = jd.given(pipe, y=[1.0], marginals="exact").mean()
        there = (model.given(y=[1.0], marginals="exact").mean() - X.mean()) / X.std()
        assert_allclose(found, there, atol=0.1)

    def test_many_outcomes_are_worked_on_in_blocks(self, model, monkeypatch):
        y = np.linspace(-2, 2, 23)
        wanted = model.given(y=y)
        answers = wanted.mean(), wanted.quantile([0.1, 0.9]), wanted.novelty()
        monkeypatch.setattr(backwards, "_WORKED", 1000)
        monkeypatch.setattr(backwards, "_KEPT", 1500)
        found = model.given(y=y)
        again = found.mean(), found.quantile([0.1, 0.9]), found.novelty()
        for a, b in zip(again, answers, strict=True):
            assert_allclose(a, b, rtol=1e-10, atol=1e-12)
        assert_allclose(found[5:9].mean(), answers[0][5:9])

    @pytest.mark.parametrize("scale", [True, False])
    def test_other_regressors(self, scale):
        X, y = rows(400, 2)
        model = quick(LinearRegression(), scale=scale).fit(X, y)
        mean, _ = truth(np.array([1.0, -1.0]), 2, 1)
        assert_allclose(model.given(y=[1.0, -1.0]).mean(), mean, atol=0.25)
