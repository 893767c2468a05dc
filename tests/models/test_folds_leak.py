"""No learned part sees rows that depend on those it is judged by, if users say which do."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor

import jointdist as jd
from jointdist.data.folds import Folds, Split
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian
from jointdist.models.direction import Regression
from jointdist.models.fold_calibration import Judges, judged
from jointdist.scores import crps


def near_copies(groups, each, seed, copies=0.01):
    """Return groups of rows that nearly agree: X tells the group, and a group its effect."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), each)
    centre, effect = rng.normal(size=(groups, 2)), rng.normal(size=groups)
    X = centre[group] + copies * rng.normal(size=(len(group), 2))
    y = centre[group, 0] + effect[group] + 0.1 * rng.normal(size=len(group))
    return X, y, group


X, Y, GROUPS = near_copies(60, 5, 0)
X_NEW, Y_NEW, _ = near_copies(400, 1, 1)
X_ALONE, Y_ALONE, _ = near_copies(60, 1, 0)


def coverage(model, level=0.9):
    low, high = model.given(x=X_NEW).interval(level).T
    return np.mean((low <= Y_NEW) & (high >= Y_NEW))


class Recording(RegressorMixin, BaseEstimator):
    """A regressor of the mean that notes the rows it sees; column 0 has their numbers."""

    log: ClassVar[list] = []

    def fit(self, X, y):
        self.mean_, self.note_ = y.mean(), [np.sort(X[:, 0]).astype(int), None]
        self.log.append(self.note_)
        return self

    def predict(self, X):
        if self.note_[1] is None:
            self.note_[1] = np.sort(X[:, 0]).astype(int)
        return np.full(len(X), self.mean_)


RESIDUALS = jd.JointDistribution(Gaussian(1.0), Gaussian(1.0), regularization=0.1)


class TestSplitsAreHonoured:
    def recorded(self, cv, groups=None, n=60):
        x = np.stack([np.arange(n), np.zeros(n)], axis=1)
        Recording.log.clear()
        jd.DistributionRegressor(Recording(), cv=cv, distribution=RESIDUALS).fit(
            x, np.random.default_rng(0).normal(size=n), groups=groups
        )
        return Recording.log

    @pytest.mark.parametrize("cv", [KFold(4), TimeSeriesSplit(3, gap=4)])
    def test_splitters_and_their_pairs(self, cv):
        expected = list(cv.split(np.zeros((60, 1))))
        for how in (cv, expected, iter(expected)):
            seen = self.recorded(how)
            for (fit, out), pair in zip(expected, seen, strict=False):
                assert_array_equal(fit, pair[0])
                assert_array_equal(out, pair[1])
            again = seen[len(expected) :]
            assert len(again) == isinstance(cv, TimeSeriesSplit)
            assert all(len(fit) == 60 for fit, _ in again)

    def test_groups(self):
        groups = np.arange(60) % 13
        seen = self.recorded(5, groups)
        assert len(seen) == 5
        for fit, out in seen:
            assert not set(groups[fit]) & set(groups[out])
        assert_array_equal(np.sort(np.concatenate([out for _, out in seen])), np.arange(60))

    def test_time(self):
        *windows, whole = self.recorded("time")
        assert len(windows) == 5
        assert len(whole[0]) == 60
        for fit, out in windows:
            assert fit.max() < out.min()


class TestNearCopies:
    """Random folds take groups for known; folds of groups do not."""

    def test_the_data_are_a_trap(self):
        """Rows of a group forecast each other, and rows of other groups do not."""
        near = KNeighborsRegressor(1).fit(X[::2], Y[::2])
        assert np.std(Y[1::2] - near.predict(X[1::2])) < 0.5 * np.std(Y_NEW - X_NEW[:, 0])

    @pytest.mark.parametrize(
        ("regressor", "scale"),
        [("kernel", False), ("kernel", True), (KNeighborsRegressor(3), True)],
        ids=["constant", "kernel", "neighbours"],
    )
    def test_location_scale_and_residuals(self, regressor, scale):
        how = {"kernel_x": Gaussian(0.5), "random_state": 0}
        alone, together = (
            jd.DistributionRegressor(regressor, scale, **how).fit(X, Y, groups=groups)
            for groups in (None, GROUPS)
        )
        error = np.sqrt(np.mean((Y_NEW - together.predict(X_NEW)) ** 2))
        told = np.sqrt(together._model.unexplained[0])
        assert 0.75 < told / error < 1.35
        assert np.sqrt(alone._model.unexplained[0]) < 0.5 * error
        assert 0.82 < coverage(together) < 0.98
        assert coverage(alone) < 0.7

    @pytest.mark.parametrize(
        ("model", "gain"),
        [
            (jd.JointDistribution(Gaussian(0.5), Gaussian(1.0), random_state=0), 0.1),
            (jd.ConditionalMeanEmbedding(Gaussian(0.5), Gaussian(1.0)), 0.1),
            (jd.PolynomialJointDistribution(4, random_state=0), -0.1),
        ],
        ids=["joint", "embedding", "polynomial"],
    )
    def test_ridges(self, model, gain):
        """As on one row of each group, and far from what random folds choose."""
        one = clone(model).fit(X_ALONE, Y_ALONE)
        alone, together = (clone(model).fit(X, Y, groups=g) for g in (None, GROUPS))
        assert together.regularization_ > 8 * alone.regularization_
        assert 0.09 < together.regularization_ / one.regularization_ < 11
        skills = [model.score(X_NEW, Y_NEW) for model in (alone, together)]
        assert skills[1] > skills[0] + gain
        assert skills[1] > 0
        told = together.selection_.score / crps(together.given(x=X_NEW), Y_NEW).mean()
        assert 0.75 < told < 1.35
        assert alone.selection_.score < 0.7 * together.selection_.score

    def test_length_scales(self):
        """Short ones tell groups apart, which only rows of these groups can use."""
        how = {"random_state": 0, "selection": jd.Selection(scales="common")}
        model = jd.JointDistribution(kernel_y=Gaussian(1.0), **how)
        alone = model.fit(X, Y).kernel_x_.scale
        together = model.fit(X, Y, groups=GROUPS).kernel_x_.scale
        assert np.all(np.asarray(together) > 2 * np.asarray(alone))

    @pytest.mark.parametrize("name", ["KernelLogisticRegression", "JointClassifier"])
    def test_classifiers(self, name):
        model = getattr(jd, name)(Gaussian(0.5), random_state=0)
        losses, ridges = [], []
        for groups in (None, GROUPS):
            p = model.fit(X, Y > 0, groups=groups).predict_proba(X_NEW)[:, 1]
            p = np.where(Y_NEW > 0, p, 1 - p)
            losses.append(-np.mean(np.log(np.clip(p, 1e-3, 1))))
            ridges.append(model.regularization_)
        assert ridges[1] > 8 * ridges[0]
        assert losses[1] < 0.9 * losses[0]
        assert losses[1] < np.log(2)

    @pytest.mark.parametrize("in_full", [False, True])
    def test_projections_of_embeddings(self, in_full):
        """Distributions without the group are wide, and so are their projections."""
        model = jd.ConditionalMeanEmbedding(
            Gaussian(0.5), Gaussian(0.3), regularization=1e-4, low_rank=not in_full
        )
        alone, together = (
            model.fit(X, Y, groups=groups)._fitted.tuned[0] for groups in (None, GROUPS)
        )
        assert together > alone

    def test_projections_of_joint_distributions(self):
        model = jd.JointDistribution(Gaussian(0.5), Gaussian(0.3), regularization=1e-5)
        alone = model.fit(X, Y)._fitted.tuned
        together = model.fit(X, Y, groups=GROUPS)._fitted.tuned
        assert together[0] > alone[0]
        assert together[1] > alone[1]

    def test_fewer_groups_than_folds(self):
        groups = np.arange(len(X)) % 3
        model = jd.JointDistribution(Gaussian(), Gaussian()).fit(X, Y, groups=groups)
        assert model.selection_.folds == 3


def _seeded(**options):
    """Return a model whose pivots, and so its rank, do not change."""
    return jd.JointDistribution(Gaussian(), Gaussian(), random_state=0, **options)


@pytest.mark.parametrize("ridge", [1e-3, np.array(0.0)])
def test_folds_of_single_rows_are_leave_one_out(ridge):
    """The calibration by folds has the same coefficients as the closed form."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30, 1))
    y += x
    if isinstance(ridge, np.ndarray):
        first = _seeded(regularization=1e-3).fit(x, y)
        ridge = np.geomspace(1e-4, 1e-1, len(first.coefficients_))
    model = _seeded(regularization=ridge).fit(x, y)
    joint = model._fitted
    kept, executor = joint.kept, joint.problem.executor
    each = Folds.of(
        [Split.without(np.array([i]), 30) for i in range(30)],
        np.arange(30),
        None,
        timed=False,
    )
    sample = kept.rows.__class__(kept.rows.x, kept.rows.y, None, folds=each)
    by_folds = judged(Judges(sample), (None, None), executor)
    one_by_one = kept.typical(executor)
    for folds, rows, direction, axes in zip(
        by_folds,
        one_by_one,
        (joint.y_given_x, joint.x_given_y),
        ((-1, 1), (1, -1)),
        strict=True,
    ):
        own = Regression(
            direction.support, direction.given, direction.H, np.reshape(ridge, axes), 30.0
        )
        assert_array_equal(folds.points, rows.points)
        expected = own.leave_one_out(rows)
        c = direction.support.basis.eigenvalues
        told = c > 1e-6 * c.max()
        found = folds.left_out(own)
        assert_allclose(found[:, told], expected[:, told], rtol=1e-4, atol=1e-6)


class TestRandomWalk:
    """The future is not known from what comes after it."""

    @staticmethod
    def walk(seed, n=180):
        return np.arange(n, dtype=float)[:, None], np.cumsum(
            np.random.default_rng(seed).normal(size=n)
        )

    def test_location_and_residuals(self):
        told = {5: [], "time": []}
        errors = []
        for seed in range(3):
            x, y = self.walk(seed)
            for cv, found in told.items():
                model = jd.DistributionRegressor(
                    "kernel", cv=cv, kernel_x=Gaussian(10.0), random_state=0
                ).fit(x[:150], y[:150])
                found.append(model._model.unexplained[0])
            errors.append(np.mean((y[150:] - model.predict(x[150:])) ** 2))
        error = np.sqrt(np.mean(errors))
        assert np.sqrt(np.mean(told["time"])) > 0.7 * error
        assert np.sqrt(np.mean(told[5])) < 0.3 * error

    def test_selection(self):
        """The score by windows is about that on the future; that by random folds is not."""
        told = {5: [], "time": []}
        scores = []
        for seed in range(3):
            x, y = self.walk(seed)
            for cv, found in told.items():
                model = jd.JointDistribution(
                    kernel_y=Gaussian(3.0),
                    selection=jd.Selection(cv=cv, criterion="crps"),
                    positivity="none",
                    random_state=0,
                ).fit(x[:150], y[:150])
                found.append(model.selection_.score)
            scores.append(crps(model.given(x=x[150:]), y[150:]).mean())
        assert np.mean(told["time"]) > 0.5 * np.mean(scores)
        assert np.mean(told[5]) < 0.3 * np.mean(scores)


class TestConformal:
    FLAT = jd.JointDistribution(Gaussian(0.5), Gaussian(1.0), regularization=1e-5)

    def rows_of(self, model):
        return np.sort(model.estimator_._fitted.kept.rows.x.table()[:, 0]).astype(int)

    def numbered(self, n=60):
        rng = np.random.default_rng(0)
        return np.stack([np.arange(n), rng.normal(size=n)], axis=1), rng.normal(size=n)

    def test_calibration_rows_are_whole_groups(self):
        x, y = self.numbered()
        groups = np.arange(60) % 15
        model = jd.ConformalCalibration(self.FLAT, random_state=0).fit(x, y, groups=groups)
        fit = self.rows_of(model)
        out = np.delete(np.arange(60), fit)
        assert len(out) == 12
        assert not set(groups[fit]) & set(groups[out])

    @pytest.mark.parametrize("by", ["selection", "cv"])
    def test_in_time_the_last_rows_are_held_back(self, by):
        x, y = self.numbered()
        how = {"selection": jd.Selection(cv="time")}
        model = self.FLAT
        if by == "selection":
            model = jd.JointDistribution(Gaussian(0.5), Gaussian(), **how)
        else:
            Recording.log.clear()
            model = jd.DistributionRegressor(
                Recording(), cv="time", distribution=RESIDUALS, random_state=0
            )
        fitted = jd.ConformalCalibration(model, random_state=0).fit(x, y)
        rows = self.rows_of(fitted) if by == "selection" else Recording.log[-1][0]
        assert_array_equal(rows, np.arange(48))

    @pytest.mark.parametrize("cv", [KFold(4), list(KFold(4).split(np.zeros((60, 1))))])
    def test_of_splits_the_last_is_for_calibration(self, cv):
        x, y = self.numbered()
        how = jd.Selection(cv=cv)
        model = jd.JointDistribution(Gaussian(0.5), Gaussian(), selection=how)
        fitted = jd.ConformalCalibration(model, random_state=0).fit(x, y)
        assert_array_equal(self.rows_of(fitted), np.arange(45))
        told = 4 if cv is how.cv else 3
        assert fitted.estimator_.selection_.folds == told

    def test_one_split(self):
        x, y = self.numbered()
        how = jd.Selection(cv=[(np.arange(40), np.arange(40, 60))])
        model = jd.JointDistribution(Gaussian(0.5), Gaussian(), selection=how)
        told = r"ConformalCalibration: `estimator` must be of two splits at least. Got 1"
        with pytest.raises(ValueError, match=told):
            jd.ConformalCalibration(model).fit(x, y)

    @pytest.mark.filterwarnings("ignore::jointdist.errors.ToleranceWarning")
    def test_coverage_of_new_groups(self):
        """Groups count, not rows: near copies are no evidence."""
        signed = clone(self.FLAT).set_params(regularization=1e-3, positivity="none")
        covered = {None: [], "groups": []}
        for seed in range(6):
            x, y, groups = near_copies(60, 4, 10 + seed)
            for kind, found in covered.items():
                model = jd.ConformalCalibration(signed, share=0.4, random_state=0)
                model.fit(x, y, groups=None if kind is None else groups)
                found.append(coverage(model, 0.8))
        assert np.mean(covered["groups"]) > 0.78
        assert np.mean(covered[None]) < 0.72

    def test_a_group_weighs_as_much_as_a_row(self):
        x, y = self.numbered()
        groups = np.arange(60) % 15
        model = jd.ConformalCalibration(self.FLAT, random_state=0).fit(x, y, groups=groups)
        assert_allclose(model.recalibration_.size, 3 + 1)
        told = "They need at least 19 rows of calibration, here 3,"
        with pytest.warns(ToleranceWarning, match=told):
            model.given(x=x[:3]).interval(0.9)


class TestArguments:
    def test_leaving_out_rows_is_refused(self):
        model = jd.JointDistribution(Gaussian(), Gaussian(), regularization="loo")
        told = r"`regularization` must be a number.*held out by groups.*Got 'loo'"
        with pytest.raises(ValueError, match=told):
            model.fit(X, Y, groups=GROUPS)

    def test_folds_of_residuals_are_those_of_the_regressor(self):
        dist = jd.JointDistribution(selection=jd.Selection(cv="time"))
        told = r"`distribution` must be one whose `selection` has a number as `cv`"
        with pytest.raises(ValueError, match=told):
            jd.DistributionRegressor(distribution=dist).fit(X, Y)

    def test_all_estimators_read_groups(self):
        models = [
            jd.JointDistribution(),
            jd.PolynomialJointDistribution(),
            jd.ConditionalMeanEmbedding(),
            jd.DistributionRegressor(),
            jd.ConformalCalibration(jd.JointDistribution()),
            jd.KernelLogisticRegression(),
            jd.JointClassifier(),
        ]
        for model in models:
            y = Y > 0 if hasattr(model, "predict_proba") else Y
            name = type(model).__name__
            with pytest.raises(
                ValueError, match=f"{name}: `groups` must be as long as `X`"
            ):
                model.fit(X, y, groups=[1, 2])

    def test_iterators_serve_twice(self):
        how = jd.Selection(cv=KFold(3).split(X))
        model = jd.JointDistribution(Gaussian(), Gaussian(), selection=how)
        a, b = (clone(model).fit(X, Y).regularization_ for _ in range(2))
        assert a == b

    def test_groups_and_their_splits_are_the_same(self):
        splits = list(GroupKFold(4).split(X, Y, GROUPS))
        a, b = (
            jd.JointDistribution(
                Gaussian(), Gaussian(), selection=jd.Selection(cv=cv), random_state=0
            ).fit(X, Y, groups=groups)
            for cv, groups in ((GroupKFold(4), GROUPS), (splits, None))
        )
        assert_array_equal(a.selection_.chosen.scores, b.selection_.chosen.scores)
        assert a._fitted.tuned == b._fitted.tuned


class TestAfterTheFit:
    """Updates and files keep the ridges of projections that folds have chosen."""

    @pytest.mark.parametrize(
        "model",
        [
            jd.JointDistribution(Gaussian(0.5), Gaussian(0.3), regularization=1e-5),
            jd.ConditionalMeanEmbedding(Gaussian(0.5), Gaussian(0.3), regularization=1e-4),
            jd.PolynomialJointDistribution(2, regularization=0.1),
        ],
        ids=["joint", "embedding", "polynomial"],
    )
    def test_updates_and_files(self, model, tmp_path):
        model = clone(model).fit(X[:100], Y[:100], groups=GROUPS[:100])
        tuned = model._fitted.tuned
        model.save(tmp_path / "model.jd")
        for each in (model, jd.load(tmp_path / "model.jd")):
            assert_allclose(each.refit(regularization=1e-3)._fitted.tuned[0], tuned[0])
            each.partial_fit(X[:20] + 1e-6, Y[:20])
            assert_allclose(each._fitted.tuned[0], tuned[0])
            each.forget(X[:20] + 1e-6, Y[:20])
            assert_allclose(each._fitted.tuned[0], tuned[0])

    def test_time_is_stored(self, tmp_path):
        how = {"selection": jd.Selection(cv="time"), "random_state": 0}
        model = jd.JointDistribution(Gaussian(), Gaussian(), **how).fit(X, Y)
        model.save(tmp_path / "model.jd")
        assert jd.load(tmp_path / "model.jd").selection == jd.Selection(cv="time")
        quick = {"cv": "time", "distribution": RESIDUALS, "random_state": 0}
        model = jd.DistributionRegressor("kernel", kernel_x=Gaussian(), **quick).fit(X, Y)
        model.save(tmp_path / "other.jd")
        assert jd.load(tmp_path / "other.jd").cv == "time"

    def test_splitters_are_not_stored(self, tmp_path):
        how = {"selection": jd.Selection(cv=KFold(3)), "random_state": 0}
        model = jd.JointDistribution(Gaussian(), Gaussian(), **how).fit(X, Y)
        told = r"whose `cv` is a number or \"time\", as a file holds no code.*Got splits"
        with pytest.raises(ValueError, match=told):
            model.save(tmp_path / "model.jd")
        model.set_params(selection=None).save(tmp_path / "model.jd")
        same = jd.load(tmp_path / "model.jd")
        assert same.selection_.regularization == model.selection_.regularization
