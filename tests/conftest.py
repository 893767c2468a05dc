"""Profiles of Hypothesis, and the array libraries that tests run on."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from array_api_compat import array_namespace
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,  # machines are shared and noisy
    max_examples=60,
    derandomize=True,  # the same examples for everybody
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("default")


LIBRARIES = ["numpy", "array_api_strict"]
if find_spec("torch") is not None:
    LIBRARIES.append("torch")


@pytest.fixture(params=LIBRARIES, scope="session")
def xp(request):
    """Return the namespace of an array library."""
    return array_namespace(import_module(request.param).empty(0))


@pytest.fixture
def rng():
    """Return a seeded generator."""
    return np.random.default_rng(0)
