"""The pages of results follow from the tables."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from benchmarks.forecasts import __main__ as forecasts
from benchmarks.forecasts import report
from benchmarks.peers.study import STUDY as PEERS
from benchmarks.quality import __main__ as quality
from benchmarks.quality.report import page
from experiments.claims import verdict
from experiments.markdown import growth
from experiments.pages import checksum, pages
from experiments.store import read_table
from experiments.studies import STUDIES

FOLDER = Path(__file__).parents[2] / "docs" / "results"
ALL = [*STUDIES.values(), PEERS]


def test_every_study_has_a_table():
    tables = {file.stem for file in (FOLDER / "tables").glob("*.csv")}
    known = {study.name for study in [*ALL, *quality.SECTIONS]}
    assert tables - {f"forecasts-{name}" for name in forecasts.SECTIONS} == known
    assert "forecasts-scores" in tables


@cache
def made():
    """Return all pages, by the names of their files."""
    return pages(ALL, FOLDER)


@pytest.mark.parametrize("name", ["README.md", *(f"{study.name}.md" for study in ALL)])
def test_pages(name):
    assert made()[name] == (FOLDER / name).read_text(encoding="utf-8")


def test_page_of_proper_distributions():
    written = (FOLDER / quality.PAGE).read_text(encoding="utf-8")
    assert page(quality.tables(FOLDER)) == written


def test_page_of_forecasts():
    written = (FOLDER / forecasts.PAGE).read_text(encoding="utf-8")
    assert report.page(report.tables(FOLDER)) == written


@pytest.mark.parametrize("study", ALL, ids=lambda study: study.name)
def test_figures(study):
    files = sorted((FOLDER / "figures").glob(f"{study.name}-*.png"))
    assert files
    for file in files:
        with Image.open(file) as picture:
            table = FOLDER / "tables" / f"{study.name}.csv"
            assert picture.info["Source"] == checksum(table), f"{file.name} is out of date"


def test_no_other_figures():
    known = {study.name for study in ALL}
    assert {file.stem.partition("-")[0] for file in FOLDER.glob("figures/*.png")} == known


def test_sizes_are_compared_by_the_runs_that_both_have():
    easy = pd.DataFrame({"n": 10, "seed": [0, 1], "model": "A", "loss": [1.0, 99.0]})
    hard = pd.DataFrame({"n": 100, "seed": [0], "model": "A", "loss": [2.0]})
    found = growth(pd.concat([easy, hard]), "loss")
    assert found["A"].to_dict() == {100: 2.0}  # not 2 / 50
    assert growth(easy, "loss")["A"].empty


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        ([], "not run"),
        ([True, True], "holds"),
        ([False, False], "does not hold"),
        (np.array([[True, False], [False, False]]), "holds in 1 of 4 cases"),
    ],
)
def test_verdicts(cases, text):
    assert verdict(cases) == text


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_claims_of_few_runs(study):
    table = read_table(FOLDER / "tables" / f"{study.name}.csv", study.keys)
    few = table[(table["seed"] == 0) & (table["n"] == table["n"].min())]
    for claim in study.claims(few):
        assert claim.verdict.startswith(("holds", "does not hold", "not run"))
        assert "nan" not in claim.numbers
