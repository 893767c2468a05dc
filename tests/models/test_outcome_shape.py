"""Point masses and bounds of outcomes: what is found, what is not, what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import jointdist as jd
from jointdist.models.outcome_shape import bounds_of, outcome_shape, repeated_values

N = 1000
ONE = np.ones(N)
FAR = np.inf


def normal(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=n)


def shape(column, support="auto", point_masses=True, integers=False, weights=None):
    return outcome_shape(
        "DistributionRegressor",
        support,
        np.reshape(column, (len(column), -1)),
        weights,
        point_masses=point_masses,
        integers=integers,
    )


def bounds(column, **how):
    found = shape(column, **how).range
    return None if found is None else (found.low.tolist(), found.high.tolist())


class TestPointMasses:
    """Values that are repeated far more often than their neighbours."""

    @pytest.mark.parametrize("seed", range(5))
    def test_none_of_continuous_outcomes_and_lattices(self, seed):
        rng = np.random.default_rng(seed)
        minutes = np.round(rng.gamma(1.5, 20, 3000) - 15)
        tenths = np.round(rng.normal(size=3000), 1)
        prices = np.round(np.exp(rng.normal(3, 1, 3000)))
        counts = rng.poisson(40, 3000)
        for column in (rng.normal(size=3000), minutes, tenths, prices, counts):
            assert_array_equal(repeated_values(column.astype(float), np.ones(3000)), [])

    @pytest.mark.parametrize("seed", range(5))
    def test_zeros_caps_and_round_numbers(self, seed):
        z = normal(seed)
        assert_array_equal(repeated_values(np.where(z > -1.5, np.exp(z), 0), ONE), [0])
        assert_array_equal(repeated_values(np.minimum(z, 1.7), ONE), [1.7])
        both = np.clip(z, -1.0, 1.5)
        assert_array_equal(repeated_values(both, ONE), [-1, 1.5])
        round_ = np.where(np.random.default_rng(seed).random(N) < 0.3, np.round(z), z)
        assert set(repeated_values(round_, ONE)) <= {-2.0, -1.0, 0.0, 1.0, 2.0}
        assert {-1.0, 0.0, 1.0} <= set(repeated_values(round_, ONE))

    def test_in_a_lattice(self):
        minutes = np.round(20 * normal())
        minutes[:150] = 0
        assert_array_equal(repeated_values(minutes, ONE), [0])

    def test_few_rows_are_none(self):
        z = normal()
        z[:9] = 0
        assert_array_equal(repeated_values(z[:200], np.ones(200)), [])
        assert_array_equal(repeated_values(z, ONE), [])

    def test_weights_are_shares(self):
        z = normal()
        z[:15] = 0.1
        assert_array_equal(repeated_values(z, ONE), [])
        assert_array_equal(repeated_values(z, np.where(z == 0.1, 4.0, 1.0)), [0.1])

    def test_none_if_not_wanted(self):
        found = shape(np.maximum(normal(), 0), point_masses=False)
        assert_array_equal(found.point_masses, [])


class TestBounds:
    """Zero, if it is never crossed; point masses at the ends."""

    def test_signs(self):
        assert bounds(normal()) is None
        assert bounds(np.exp(normal())) == ([0], [FAR])
        assert bounds(-np.exp(normal())) == ([-FAR], [0])
        assert bounds(np.exp(normal(n=19))) is None

    def test_point_masses_at_the_ends(self):
        assert bounds(np.clip(normal(), -1, 1)) == ([-1], [1])
        assert bounds(5 + np.minimum(normal(), 1)) == ([0], [6])
        assert bounds(5 + np.minimum(normal(), 1), point_masses=False) == ([0], [FAR])

    def test_given(self):
        z = np.exp(normal())
        assert bounds(z, support=None) is None
        assert bounds(z, support=(None, None)) is None
        assert bounds(z, support=(None, 100)) == ([-FAR], [100])
        assert bounds(z, support=[(-1, 100.5)]) == ([-1], [100.5])
        assert_array_equal(shape(np.maximum(normal(), 0), support=None).point_masses, [0])

    def test_several_columns(self):
        Y = np.c_[np.exp(normal()), normal(1), np.minimum(normal(2), 0)]
        assert bounds(Y) == ([0, -FAR, -FAR], [FAR, FAR, 0])
        given = [(0, None), (None, None), (-9, 0)]
        assert bounds(Y, support=given) == ([0, -FAR, -9], [FAR, FAR, 0])
        assert_array_equal(shape(Y).point_masses, [])

    def test_whole_numbers_beside_a_point_mass(self):
        counts = np.random.default_rng(0).poisson(60, N) * (normal() > 0)
        found = shape(counts.astype(float), integers=True)
        assert (found.range.low, found.rest.low) == (0, 1)
        assert found.range.whole

    def test_pairs(self):
        assert bounds_of((0, None)) == [(0, FAR)]
        assert bounds_of([(0, 1), [None, 2.5]]) == [(0, 1), (-FAR, 2.5)]
        assert bounds_of("positive") is None
        assert bounds_of((0, "one")) is None
        assert bounds_of((True, 2)) is None


@pytest.mark.parametrize(
    "support", ["positive", (1, 0), (0, 0), (0,), 3, (0, np.nan), [(0, 1, 2)], {"low": 0}]
)
def test_supports_that_are_none(support):
    model = jd.DistributionRegressor("kernel", support=support)
    with pytest.raises(ValueError, match="DistributionRegressor: `support` must be"):
        model.fit(normal(n=40)[:, None], normal(1, n=40))


@pytest.mark.parametrize("name", ["point_masses", "integers"])
def test_flags_that_are_none(name):
    model = jd.DistributionRegressor("kernel", **{name: "yes"})
    with pytest.raises(ValueError, match=f"`{name}` must be True or False"):
        model.fit(normal(n=40)[:, None], normal(1, n=40))


def test_outcomes_beyond_a_bound_are_named():
    with pytest.raises(ValueError, match=r"`support` must be bounds.*outcome of -3 in co"):
        shape(np.append(np.exp(normal()), -3), support=(0, None))
    with pytest.raises(ValueError, match="each of the 2 columns"):
        shape(np.c_[normal(), normal(1)], support=(None, None))


def test_outcomes_that_are_not_whole_are_named():
    with pytest.raises(ValueError, match=r"`integers` must be False.*outcome of 0\.5"):
        shape(np.append(np.round(9 * normal()), 0.5), integers=True)
