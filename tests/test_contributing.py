"""CONTRIBUTING.md may not drift from the code."""

import re

import module_map

PAGE = module_map.PAGE.read_text("utf-8")


def test_the_map_of_modules_is_that_of_the_package():
    """Write it anew with `python tests/module_map.py --write`."""
    assert module_map.split_page()[1] == module_map.module_map()


def test_rooms_of_the_map_are_those_of_the_package():
    rooms = {path.parent.name for path in module_map.SOURCE.glob("*/__init__.py")}
    assert rooms == set(module_map.ROOMS)


def test_files_that_are_named_exist():
    paths = re.findall(r"`((?:src|tests|docs|benchmarks|experiments)/[\w/.-]+)`", PAGE)
    assert len(paths) > 10
    assert [path for path in paths if not (module_map.ROOT / path).exists()] == []


def test_targets_that_are_named_exist():
    makefile = (module_map.ROOT / "Makefile").read_text("utf-8")
    experiments = re.search(r"EXPERIMENTS := (.*)", makefile).group(1).split()
    known = set(re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE)) | set(experiments)
    assert set(re.findall(r"`make ([\w-]+)", PAGE)) <= known
