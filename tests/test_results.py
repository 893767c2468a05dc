"""The pages of results are what the tables say."""

from pathlib import Path

import pytest
from PIL import Image

from benchmarks.peers.study import STUDY as PEERS
from experiments.pages import checksum, pages
from experiments.studies import STUDIES

FOLDER = Path(__file__).parents[1] / "docs" / "results"
ALL = [*STUDIES.values(), PEERS]


def test_every_study_has_a_table():
    tables = {file.stem for file in (FOLDER / "tables").glob("*.csv")}
    assert tables == {study.name for study in ALL}


@pytest.mark.parametrize("name", ["README.md", *(f"{study.name}.md" for study in ALL)])
def test_pages(name):
    assert pages(ALL, FOLDER)[name] == (FOLDER / name).read_text(encoding="utf-8")


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
