"""Command line: ``python -m experiments NAME --preset quick``, or ``pages``."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers.study import STUDY as PEERS
from experiments.device import VARIABLE, require_device
from experiments.pages import write_figures, write_pages
from experiments.refusal import RefusalError
from experiments.store import Settings, Store, read_table
from experiments.studies import STUDIES
from experiments.study import Study, fill, settings_of

ROOT = Path(__file__).parents[1]
FULL = ROOT / "docs" / "results"
EPILOG = """\
The study famafrench reads returns from data/french in the folder named by the environment
variable JOINTDIST_SHARED, or in a folder `shared` beside the checkout; if the file is missing,
it downloads them. Its preset tiny uses simulated returns."""


def _at_least(least: int) -> Callable[[str], int]:
    """Return a parser of integers that are at least `least`."""

    def count(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            msg = f"must be a whole number of at least {least}. Got {text!r}."
            raise argparse.ArgumentTypeError(msg)
        return int(text)

    return count


def _device(name: str) -> str:
    """Return the name of a device; an empty name is the CPU."""
    try:
        if name:
            require_device(name)
    except RefusalError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("what", nargs="+", choices=[*STUDIES, "all", "pages"])
    parser.add_argument("--preset", choices=("tiny", "quick", "full"), default="quick")
    parser.add_argument("--runs", type=_at_least(1), help="runs of each setting")
    parser.add_argument("--sizes", type=_at_least(10), nargs="+", help="sample sizes")
    parser.add_argument("--jobs", type=_at_least(1), default=1, help="number of processes")
    parser.add_argument(
        "--device", type=_device, default="", help="device of PyTorch, such as cuda"
    )
    help_ = "folder of tables and figures; docs/results for full, results/PRESET otherwise"
    parser.add_argument("--results", type=Path, help=help_)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run studies, or write the pages and figures of their tables."""
    parser = _parser()
    options = parser.parse_args(arguments)
    os.environ[VARIABLE] = options.device
    default = FULL if options.preset == "full" else ROOT / "results" / options.preset
    folder = options.results or default
    if "pages" in options.what and len(options.what) > 1:
        parser.error("pages are generated from all tables: name no studies")
    try:
        if "pages" in options.what:
            _draw([*STUDIES.values(), PEERS], options.results or FULL)
            return
        for name in STUDIES if "all" in options.what else options.what:
            todo = settings_of(STUDIES[name], options.preset, options.runs, options.sizes)
            _run(STUDIES[name], todo, folder, options.jobs)
    except RefusalError as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


def _draw(studies: Sequence[Study], folder: Path) -> None:
    """Write the pages and figures of all tables."""
    for study in studies:
        with _explained(study, folder):
            (folder / "figures").mkdir(exist_ok=True)
            if (table := _table(study, folder)).exists():
                read_table(table, study.keys)
    write_pages(studies, folder)


def _run(study: Study, todo: Sequence[Settings], folder: Path, jobs: int) -> None:
    """Compute the missing rows of a table, then draw its figures."""
    table, figures = _table(study, folder), folder / "figures"
    with _explained(study, folder):
        figures.mkdir(parents=True, exist_ok=True)
        if table.exists():  # fail before the store creates a journal beside it
            read_table(table, study.keys)
        store = Store(table, study.keys)
    if any(one.get("data") == "simulated" for one in todo):
        sys.stderr.write(f"{study.name}: data are simulated in this preset\n")
    with store:
        fill(study, todo, store, jobs=jobs)
    write_figures(study, table, figures)


def _table(study: Study, folder: Path) -> Path:
    return folder / "tables" / f"{study.name}.csv"


@contextmanager
def _explained(study: Study, folder: Path) -> Iterator[None]:
    """Explain in one line why files of a study cannot be read or written."""
    start = "argument --results: must be a folder"
    try:
        yield
    except OSError as error:
        msg = f"{start} to read and write. Got {str(folder)!r}: {error.strerror}."
        raise RefusalError(msg) from error
    except ValueError as error:
        why = " ".join(str(error).split())
        msg = f"{start} with tables of these studies. Got {str(folder)!r}; {study.name}: {why}."
        raise RefusalError(msg) from error
    except RuntimeError as error:  # another run
        raise RefusalError(str(error)) from error


if __name__ == "__main__":
    main()
