"""Warnings point at the user's line, from however deep in the package they come."""

import inspect
import warnings
from pathlib import Path

import pytest

import jointdist as jd
from jointdist.errors import ToleranceWarning, warn_user

_PACKAGE = str(Path(jd.__file__).parent)


def compiled_in_package(source: str, name: str) -> object:
    """Return a function whose code claims to be in a file of the package."""
    space: dict[str, object] = {"warn_user": warn_user, "__name__": "jointdist.deep"}
    exec(compile(source, f"{_PACKAGE}/models/deep.py", "exec"), space)  # noqa: S102
    return space[name]


def test_frames_of_the_package_are_skipped():
    source = """
def inner():
    warn_user("careful", ToleranceWarning)
def outer():
    return [inner() for _ in range(1)]
"""
    outer = compiled_in_package(source, "outer")
    outer.__globals__["ToleranceWarning"] = ToleranceWarning
    with pytest.warns(ToleranceWarning, match="careful") as caught:
        outer()
    line = inspect.currentframe().f_lineno - 1
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_a_line_warns_once_by_default():
    def ask() -> None:
        for _ in range(3):
            warn_user("again", ToleranceWarning)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        ask()
    assert len(caught) == 1


def test_a_module_beside_the_package_is_not_of_it():
    source = 'def ask():\n    warn_user("careful", UserWarning)\n'
    space = {"warn_user": warn_user, "__name__": "jointdist_app"}
    file = f"{_PACKAGE}_app/main.py"
    exec(compile(source, file, "exec"), space)  # noqa: S102
    with pytest.warns(UserWarning, match="careful") as caught:
        space["ask"]()
    assert caught[0].filename == file
