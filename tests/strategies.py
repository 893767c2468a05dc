"""Hypothesis strategies for the objects of the paper."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jointdist.kernels import Delta, Gaussian, Laplace, Matern, Polynomial

COLUMNS = 3
RULES = ("auto", "rp", "greedy", "random", "column")

_scale = st.floats(0.3, 5)
scales = _scale | st.tuples(*[_scale] * COLUMNS)

simple_kernels = st.one_of(
    st.builds(Gaussian, scales),
    st.builds(Laplace, scales),
    st.builds(Matern, scales, nu=st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(
        Polynomial,
        degree=st.integers(1, 3),
        offset=st.sampled_from([0.0, 1.0, 2.5]),
        scale=scales,
    ),
    st.just(Delta()),
    st.just(Delta(similarity=0.4)),
)

_one_scale = st.one_of(
    st.builds(Gaussian, _scale), st.builds(Laplace, _scale), st.just(Delta())
)
_partial = st.builds(
    lambda kernel, columns: kernel.on(*columns),
    _one_scale,
    st.lists(st.integers(0, COLUMNS - 1), min_size=1, max_size=COLUMNS, unique=True),
)

kernels = st.one_of(
    simple_kernels,
    _partial,
    st.builds(lambda a, b: a * b, simple_kernels, _partial),
    st.builds(lambda a, b: a + b, simple_kernels, _partial),
)


def points(max_rows=30):
    """Draw ``(n, 3)`` samples: single rows, duplicates, constant columns, far points."""
    rows = st.integers(1, max_rows)
    coarse = st.integers(-3, 3).map(float)  # many duplicates
    fine = st.floats(-5, 5, width=16)
    far = st.sampled_from([0.0, 1.0, -40.0, 1e3])
    return rows.flatmap(
        lambda n: st.one_of(
            arrays(np.float64, (n, COLUMNS), elements=elements)
            for elements in (coarse, fine, fine | far)
        )
    )


tolerances = st.sampled_from([0.5, 0.1, 1e-2, 1e-3, 1e-6])
seeds = st.integers(0, 2**32 - 1)
