"""Run or resume the evaluation: ``python -m benchmarks.quality --jobs 2``."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.quality import famafrench, gaussian, likelihood, uci, vector
from benchmarks.quality.claims import claims
from benchmarks.quality.report import page
from experiments.store import read_table
from experiments.study import Study, run

ROOT = Path(__file__).parents[2]
PAGE = "proper.md"
SECTIONS = [module.SECTION for module in (uci, likelihood, gaussian, famafrench, vector)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute missing results, write the page, and print the verdicts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality", description=__doc__
    )
    parser.add_argument("--preset", choices=list(SECTIONS[0].presets), default="evaluation")
    parser.add_argument("--sets", nargs="+", help="data sets of the preset; by default all")
    parser.add_argument(
        "--splits",
        nargs="+",
        type=int,
        help="numbers of splits; by default those of the preset",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="number of single-threaded processes"
    )
    help_ = "folder of page and tables; docs/results for evaluation, else results/PRESET"
    parser.add_argument("--results", type=Path, help=help_)
    options = parser.parse_args(arguments)
    final = options.preset == "evaluation"
    default = ROOT / "docs" / "results" if final else ROOT / "results" / options.preset
    folder = options.results or default
    presets = {study.name: study.presets[options.preset]["sets"] for study in SECTIONS}
    names = [name for sets in presets.values() for name in sets]
    unknown = sorted(set(options.sets or ()) - set(names))
    if unknown:
        parser.error(f"--sets must be among {names}. Got {unknown}.")
    for study in SECTIONS:
        selected = {
            name: options.splits or splits
            for name, splits in presets[study.name].items()
            if name in (options.sets or names)
        }
        todo = list(study.settings(selected))
        if todo:
            with threadpool_limits(1):  # as in the processes of a pool
                run(study, todo, _table(study, folder), jobs=options.jobs)
    found = tables(folder)
    (folder / PAGE).write_text(page(found), encoding="utf-8")
    for claim in claims(found):
        print(f"{claim.verdict}: {claim.text} {claim.numbers}")


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the existing tables by section."""
    return {
        study.name: read_table(_table(study, folder), study.keys)
        for study in SECTIONS
        if _table(study, folder).exists()
    }


def _table(study: Study, folder: Path) -> Path:
    return folder / "tables" / f"{study.name}.csv"


if __name__ == "__main__":
    main()
