"""The command: ``python -m experiments NAME --preset quick``, or ``pages``."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.study import STUDY as PEERS
from experiments.device import VARIABLE
from experiments.pages import write_figures, write_pages
from experiments.studies import STUDIES
from experiments.study import run, settings_of

ROOT = Path(__file__).parents[1]
FULL = ROOT / "docs" / "results"


def _count(word: str) -> int:
    """Return a number of at least one."""
    if not word.isdecimal() or int(word) < 1:
        msg = f"must be a whole number of at least 1. Got {word!r}."
        raise argparse.ArgumentTypeError(msg)
    return int(word)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run studies, or draw what they have found."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("what", nargs="+", choices=[*STUDIES, "all", "pages"])
    parser.add_argument("--preset", choices=("tiny", "quick", "full"), default="quick")
    parser.add_argument("--runs", type=_count, help="of each setting")
    parser.add_argument("--sizes", type=_count, nargs="+", help="numbers of rows")
    parser.add_argument("--jobs", type=_count, default=1, help="processes")
    parser.add_argument("--device", default="", help="of PyTorch, such as cuda")
    help_ = "folder of tables and figures; docs/results for full, results/PRESET otherwise"
    parser.add_argument("--results", type=Path, help=help_)
    options = parser.parse_args(arguments)
    os.environ[VARIABLE] = options.device
    default = FULL if options.preset == "full" else ROOT / "results" / options.preset
    folder = options.results or default
    if "pages" in options.what and len(options.what) > 1:
        parser.error("pages are made of all tables: name no studies")
    if "pages" in options.what:
        write_pages([*STUDIES.values(), PEERS], options.results or FULL)
        return
    for name in STUDIES if "all" in options.what else options.what:
        study, table = STUDIES[name], folder / "tables" / f"{name}.csv"
        todo = settings_of(study, options.preset, options.runs, options.sizes)
        run(study, todo, table, jobs=options.jobs)
        write_figures(study, table, folder / "figures")


if __name__ == "__main__":
    main()
