"""The public face: names, import, packaging, data."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jointdist
from jointdist.datasets import load_flights

WALKED = list(pkgutil.walk_packages(jointdist.__path__, "jointdist."))
FACES = {"jointdist.kernels", "jointdist.programs", "jointdist.scores", "jointdist.plots"}
FACES |= {"jointdist.datasets"}  # rooms whose names are had from the room itself
MODULES = [name for _, name, room in WALKED if not room or name in FACES]
ROOMS = [name for _, name, room in WALKED if room and name not in FACES]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_without_a_face_has_a_sentence_and_no_names(room):
    found = importlib.import_module(room)
    names = {name for name in vars(found) if not name.startswith("__")}
    assert found.__doc__.endswith(".")
    assert all(isinstance(getattr(found, name), types.ModuleType) for name in names)


def test_what_is_exported_is_what_is_listed():
    public = {
        name
        for name, value in vars(jointdist).items()
        if not name.startswith("_")
        and (not isinstance(value, types.ModuleType) or name in jointdist.__all__)
    }
    public -= {"TYPE_CHECKING", "Any"}  # for the type checker
    assert sorted(public | set(jointdist._LATER)) == sorted(jointdist.__all__)


@pytest.mark.parametrize("name", jointdist.__all__)
def test_what_is_listed_can_be_had(name):
    assert getattr(jointdist, name) is not None
    assert name in dir(jointdist)


def test_completion_shows_what_is_listed_alone():
    assert [name for name in dir(jointdist) if not name.startswith("__")] == sorted(
        jointdist.__all__
    )


PUBLIC = [
    f"{module}.{name}"
    for module in ["jointdist", *sorted(FACES - {"jointdist.programs"})]
    for name in importlib.import_module(module).__all__
    if not name.islower() or module != "jointdist"  # not a module
]


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_has_an_example(name):
    module, _, name = name.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    if not inspect.isclass(found) or not issubclass(found, Exception | Warning):
        assert ">>> " in inspect.getdoc(found)


def test_what_is_not_there_is_named():
    with pytest.raises(AttributeError, match="module 'jointdist' has no attribute 'fit'"):
        _ = jointdist.fit


@pytest.mark.parametrize("module", MODULES)
def test_every_module_lists_what_it_offers(module):
    found = importlib.import_module(module)
    constants_first = sorted(found.__all__, key=lambda name: (not name.isupper(), name))
    assert constants_first == list(found.__all__)
    for name in found.__all__:
        assert hasattr(found, name)


def documented(thing):
    """Return the names in the section "Parameters" of a docstring."""
    doc = inspect.getdoc(thing) or ""
    _, _, rest = doc.partition("Parameters\n----------\n")
    section = re.split(r"\n\n\w[\w ]+\n-{3,}\n", rest)[0]
    heads = re.findall(r"^(\S.*?)(?: : .*)?$", section, flags=re.MULTILINE)
    return [name.strip("* ") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("module", MODULES)
def test_documented_parameters_are_those_of_the_signature(module):
    found = importlib.import_module(module)
    things = [getattr(found, name) for name in found.__all__]
    things = [t for t in things if getattr(t, "__module__", "") == found.__name__]
    classes = [thing for thing in things if inspect.isclass(thing)]
    methods = [m for c in classes for m in vars(c).values()]
    for thing in filter(inspect.isfunction, things + methods):
        if names := documented(thing):
            accepted = [p for p in inspect.signature(thing).parameters if p != "self"]
            assert names == accepted, thing
    for thing in classes:
        if names := documented(thing):
            assert names == list(inspect.signature(thing).parameters), thing


def test_types_of_annotations_are_no_bases():
    """From NumPy 2.5 on, on Python 3.12, `NDArray` is a type alias, and no class."""
    bases = [
        f"{module}: class {node.name}"
        for module in Path(jointdist.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if ast.unparse(base).partition("[")[0] in {"NDArray", "Vector", "Matrix", "Index"}
    ]
    assert bases == []


def test_import_is_light():
    """No data frames, no plots, no estimators until somebody asks for them."""
    code = (
        "import sys, jointdist;"
        "heavy = {'pandas', 'polars', 'pyarrow', 'matplotlib', 'sklearn', 'torch', 'rich'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_flights_are_what_they_say():
    flights = load_flights()
    assert {len(column) for column in flights.values()} == {10_000}
    assert set(flights["origin"]) == {"EWR", "JFK", "LGA"}
    X = flights.matrix("dep_delay", "origin")
    assert X.shape == (10_000, 2)
    assert np.isfinite(X).all()
    assert set(X[:, 1]) == {0.0, 1.0, 2.0}
    assert (X[flights["origin"] == "JFK", 1] == 1.0).all()


def test_flights_make_a_data_frame():
    assert pd.DataFrame(load_flights()).shape == (10_000, 10)


@pytest.mark.parametrize("names", [("fare",), (), (["hour", "day"],)])
def test_columns_that_are_not_there_are_named(names):
    message = r"^Table\.matrix: `names` must be at least one of .* Got \("
    with pytest.raises(ValueError, match=message):
        load_flights().matrix(*names)
