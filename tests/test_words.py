"""The documentation speaks the words of the field, as docs/glossary.md fixes them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRIVATE = re.compile(
    r"\b(laws?|atoms?|made valid|valid laws?|words|rows left out|what came of)\b",
    re.IGNORECASE,
)
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")]
MODULES = sorted((ROOT / "src").rglob("*.py"))
ALLOWED = {  # what was renamed must be named
    "CHANGELOG.md": {"law", "atoms", "words"},
    "docs/glossary.md": {"law", "atoms", "words"},
    "CONTRIBUTING.md": {"words"},
}


def found(text):
    return {match.lower() for match in PRIVATE.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page):
    name = str(page.relative_to(ROOT))
    assert found(page.read_text("utf-8")) <= ALLOWED.get(name, set())


@pytest.mark.parametrize(
    "module", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src"))
)
def test_docstrings_and_messages(module):
    tree = ast.parse(module.read_text("utf-8"))
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert {text: found(text) for text in strings if found(text)} == {}


def test_private_words_would_be_found():
    assert found("The Law of the sample, and its Atoms") == {"law", "atoms"}
    assert found("a lawful password") == set()
