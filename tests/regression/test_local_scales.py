"""Length scales among neighbours: shorter where the sample bends, the same by any threads."""

import numpy as np
from numpy.testing import assert_allclose

from jointdist.data.encoding import learn_encoding
from jointdist.data.executor import Executor
from jointdist.kernels.median_heuristic import Family, family_of
from jointdist.regression.effort import EFFORTS
from jointdist.regression.kernel_ridge import kernel_regression
from jointdist.regression.kriging import Kriging, kriging
from jointdist.regression.local_scales import local_scales
from jointdist.regression.regression_data import RegressionData


def problem(n=1500, words=False):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = np.sin(40 * X[:, 0]) + 0.1 * rng.normal(size=n)
    if words:
        X = np.c_[X, rng.integers(3, size=n)]
        y = y + X[:, 2]
    coded = learn_encoding(X, where="", name="")
    scales = (0.5,) * X.shape[1]
    family = Family(coded.encoding, scales, nu=1.5)
    return family, RegressionData(coded.rows, y[:, None])


def test_columns_that_matter_have_shorter_scales_and_forecasts_are_better():
    family, data = problem()
    (found,) = local_scales([family], data, patches=40)
    assert found.nu == 1.5
    assert found.scales[0] < 0.2 * found.scales[1]
    errors = [np.mean(kriging([each], data)[1] ** 2) for each in (family, found)]
    assert errors[1] < 0.8 * errors[0]


def test_threads_do_not_matter():
    family, data = problem(400, words=True)
    both = [family, Family(family.encoding, family.scales, nu=0.5)]
    one, two = (
        local_scales(both, data, patches=10, executor=Executor(workers=k)) for k in (1, 2)
    )
    for a, b in zip(one, two, strict=True):
        assert_allclose(a.scales, b.scales, rtol=1e-9)


def test_fewer_rows_than_neighbours():
    family, data = problem(20)
    (found,) = local_scales([family], data, patches=128)
    assert np.isfinite(found.scales).all()


def test_constant_outcomes_do_not_matter():
    family, data = problem()
    both = np.c_[data.targets, np.full(len(data.targets), 5.0)]
    one, two = (
        local_scales([family], RegressionData(data.x, targets), patches=40)[0]
        for targets in (data.targets, both)
    )
    assert one.scales[0] < 0.2 * one.scales[1]
    assert two.scales[0] < 0.2 * two.scales[1]


def test_kernels_of_categories_alone_are_used_once():
    rng = np.random.default_rng(0)
    X = rng.choice(list("abcd"), size=(2100, 2))
    y = (X[:, 0] == "b") + 0.1 * rng.normal(size=2100)
    coded = learn_encoding(X, where="", name="")
    family = family_of("x", "auto", coded.encoding, coded.rows, weights=None, rng=rng)
    data = RegressionData(coded.rows, y[:, None])
    found, _ = kernel_regression(family, data, max_rank=50, effort=EFFORTS["fast"])
    assert sum(isinstance(part, Kriging) for part in found.parts) == 1
