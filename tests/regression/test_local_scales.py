"""Length scales among neighbours: shorter where the sample bends, the same by any threads."""

import numpy as np
from numpy.testing import assert_allclose

from jointdist.data.encoding import learn_encoding
from jointdist.data.executor import Executor
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.kriging import kriging
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
