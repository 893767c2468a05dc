"""The way from `fit` to the mathematics stays short."""

import pytest

from benchmarks.frames import fit_of


@pytest.fixture(scope="module")
def walk():
    return fit_of(given=True)


@pytest.mark.parametrize("target", ["closed form", "pivots"])
def test_at_most_four_frames_to_the_mathematics(walk, target):
    assert 0 < walk.reached[target] <= 4


def test_fits_are_not_deep(walk):
    assert walk.depth <= 20  # projections are calibrated in the fit
    assert len(walk.files) <= 52  # five of them read tables of any kind
