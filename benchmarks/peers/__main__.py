"""Run the comparison, or go on with it: ``python -m benchmarks.peers --preset full``."""

import argparse
from pathlib import Path

from benchmarks.peers.report import markdown
from benchmarks.peers.study import STUDY
from experiments.pages import write_figures
from experiments.store import read_table
from experiments.study import run

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Compute what the table lacks, draw it, and print it as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--preset", choices=list(STUDY.presets), default="quick")
    parser.add_argument("--sets", nargs="+", help="of the preset; by default all")
    help_ = "folder of tables and figures; docs/results for full, results/PRESET otherwise"
    parser.add_argument("--results", type=Path, help=help_)
    options = parser.parse_args()
    full = options.preset == "full"
    default = ROOT / "docs" / "results" if full else ROOT / "results" / options.preset
    folder = options.results or default
    splits = STUDY.presets[options.preset]["splits"]
    unknown = sorted(set(options.sets or ()) - set(splits))
    if unknown:
        parser.error(f"--sets must be among {list(splits)}. Got {unknown}.")
    todo = list(STUDY.settings({name: splits[name] for name in options.sets or splits}))
    if not todo:
        parser.exit(1, "no files of these sets are at hand, see JOINTDIST_SHARED\n")
    table = folder / "tables" / f"{STUDY.name}.csv"
    run(STUDY, todo, table)
    write_figures(STUDY, table, folder / "figures")
    print(markdown(read_table(table, STUDY.keys)))


if __name__ == "__main__":
    main()
