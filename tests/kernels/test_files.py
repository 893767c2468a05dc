"""Kernels in files: all of the package come back, and no others go in."""

import inspect
import math
from functools import reduce
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import simple_kernels

from jointdist import kernels as kernels_module
from jointdist.data.codec import Schema
from jointdist.data.container import read_container, write_container
from jointdist.data.strict_json import canonical, parsed
from jointdist.errors import ModelFileError
from jointdist.kernels import (
    Columns,
    Delta,
    Gaussian,
    Kernel,
    Matern,
    Polynomial,
    Product,
    Sum,
)
from jointdist.kernels.files import KERNELS, register_kernels

SCHEMA = Schema()
register_kernels(SCHEMA)


class Cosine:
    def __call__(self, X, Z):
        return np.cos(X - Z.T)

    def diagonal(self, X):
        return np.ones(len(X))


class Narrow(Gaussian):
    """A subclass is another kernel, which may compute anything."""


def combined(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    columns = st.lists(st.integers(0, 30), min_size=1, max_size=20)
    return st.one_of(
        several.map(lambda parts: Sum(*parts)),
        several.map(lambda parts: Product(*parts)),
        st.builds(Columns, inner, columns),
    )


wide = st.builds(
    Matern,
    st.lists(st.floats(math.ulp(0.0), 1e308), min_size=1, max_size=40),
    nu=st.sampled_from([0.5, 1.5, 2.5]),
)
nested = st.recursive(simple_kernels | wide, combined, max_leaves=8)


def test_all_kernels_of_the_package_can_be_saved():
    public = {getattr(kernels_module, name) for name in kernels_module.__all__} - {Kernel}
    assert set(KERNELS) == public
    assert all(inspect.isclass(kernel) for kernel in public)


@given(kernel=nested)
def test_kernels_come_back(kernel):
    header, arrays = SCHEMA.encode(kernel)
    back = SCHEMA.decode(parsed(canonical(header)), arrays, type(kernel))
    assert back == kernel
    assert repr(back) == repr(kernel)


def test_a_chain_of_sixty_products_fits_in_a_file(tmp_path):
    kernel = reduce(mul, (Delta(0.5).on(i) for i in range(60)))
    write_container(tmp_path / "kernel", *SCHEMA.encode(kernel))
    found = read_container(tmp_path / "kernel")
    assert SCHEMA.decode(found.header, found.arrays, Product) == kernel


def test_a_kernel_that_occurs_twice_is_one():
    part = Gaussian(2.0)
    header, arrays = SCHEMA.encode(Sum(part, Product(part, Delta())))
    back = SCHEMA.decode(header, arrays, Sum)
    assert back.kernels[0] is back.kernels[1].kernels[0]


@pytest.mark.parametrize(
    ("kernel", "path", "name"),
    [
        (Sum(Gaussian(), Cosine()), r"kernels\[1\]", "Cosine"),
        (Delta() * Columns(Cosine(), [0]), r"kernels\[1\].kernel", "Cosine"),
        (Delta() + Narrow(2.0), r"kernels\[1\]", "Narrow"),
    ],
)
def test_kernels_of_users_are_not_saved(kernel, path, name):
    rule = f"`{path}` must be a kernel of jointdist: one of Gaussian, .*"
    with pytest.raises(
        ValueError, match=f"^save: {rule} Got {name}, which cannot be saved"
    ):
        SCHEMA.encode(kernel)


@pytest.mark.parametrize(
    ("kernel", "field", "node"),
    [
        (Gaussian(), "scale", {"case": 0, "value": 0.0}),
        (Gaussian(), "scale", {"case": 0, "value": {"float": "inf"}}),
        (Gaussian(), "scale", {"case": 1, "value": {"type": "float", "values": []}}),
        (Gaussian(), "scale", {"case": 1, "value": {"type": "float", "values": [-1.0]}}),
        (Matern(), "nu", 1.0),
        (Delta(), "similarity", 1),
        (Polynomial(), "degree", 1.5),
        (Polynomial(), "offset", -1.0),
        (Sum(Delta()), "kernels", []),
        (Delta().on(1), "columns", {"type": "int", "values": []}),
        (Delta().on(1), "columns", {"type": "int", "values": [-1]}),
    ],
)
def test_parameters_that_no_kernel_has_are_not_read(kernel, field, node):
    header, arrays = SCHEMA.encode(kernel)
    header["values"][-1]["fields"][field] = node
    with pytest.raises(
        ModelFileError, match=rf"^load: `{field}|^load: `model` must be a consistent"
    ):
        SCHEMA.decode(header, arrays, type(kernel))
