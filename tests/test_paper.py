"""The paper and the code may not drift apart: docs/paper.toml says what is where."""

import inspect
import os
import pkgutil
import re
import tomllib
from functools import cached_property
from pathlib import Path

import pytest

import jointdist

CHECKOUT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("JOINTDIST_SHARED") or CHECKOUT.parent / "shared")
PAPER = SHARED / "paper" / "adaptive-joint-distribution-learning.tex"

SECTIONS = tomllib.loads((CHECKOUT / "docs" / "paper.toml").read_text(encoding="utf-8"))
MAP = [place for section in SECTIONS.values() for place in section.items()]
HOMES = {label: home for label, home in MAP if home != "planned"}

CITATION = re.compile(r"(?:Eq\.|Theorem|Lemma|Algorithm)[\s#]+`([^`\s]+)`")
KINDS = "equation|align|multline|algorithm|theorem|lemma"  # codespell:ignore multline
NUMBERED = re.compile(rf"\\begin{{({KINDS})}}.*?\\end{{\1}}", re.DOTALL)


@pytest.mark.parametrize("label", HOMES)
def test_label_is_cited_where_the_map_says(label):
    assert label in cited(source(HOMES[label]))


def test_every_cited_label_has_a_home_on_the_map():
    modules = Path(jointdist.__file__).parent.rglob("*.py")
    labels = {label for path in modules for label in cited(path.read_text("utf-8"))}
    assert labels <= set(HOMES)


def test_the_map_has_every_label_of_the_paper_in_its_order():
    if not PAPER.exists():
        pytest.skip("the paper is not at hand; JOINTDIST_SHARED may say where it is")
    assert [label for label, _ in MAP] == labels_of(PAPER.read_text("utf-8"))


def cited(text):
    return set(CITATION.findall(text))


def source(home):
    owner = pkgutil.resolve_name(home)
    match owner:
        case property():
            owner = owner.fget
        case cached_property():
            owner = owner.func
    return inspect.getsource(owner)


def labels_of(latex):
    latex = re.sub(r"(?<!\\)%.*", "", latex)
    places = (match.group() for match in NUMBERED.finditer(latex))
    return [label for place in places for label in re.findall(r"\\label{(.+?)}", place)]
