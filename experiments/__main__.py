"""The command: ``python -m experiments NAME --preset quick``, or ``pages``."""

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
The study famafrench reads its returns from data/french in the folder that the environment
variable JOINTDIST_SHARED names, or in a folder `shared` beside the checkout; elsewhere they
are downloaded. Its preset tiny has simulated returns."""


def _at_least(least: int) -> Callable[[str], int]:
    """Return what reads a number from a word."""

    def count(word: str) -> int:
        if not word.isdecimal() or int(word) < least:
            msg = f"must be a whole number of at least {least}. Got {word!r}."
            raise argparse.ArgumentTypeError(msg)
        return int(word)

    return count


def _device(word: str) -> str:
    """Return the name of a device; an empty one is the processor."""
    try:
        if word:
            require_device(word)
    except RefusalError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return word


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("what", nargs="+", choices=[*STUDIES, "all", "pages"])
    parser.add_argument("--preset", choices=("tiny", "quick", "full"), default="quick")
    parser.add_argument("--runs", type=_at_least(1), help="of each setting")
    parser.add_argument("--sizes", type=_at_least(10), nargs="+", help="numbers of rows")
    parser.add_argument("--jobs", type=_at_least(1), default=1, help="processes")
    parser.add_argument(
        "--device", type=_device, default="", help="of PyTorch, such as cuda"
    )
    help_ = "folder of tables and figures; docs/results for full, results/PRESET otherwise"
    parser.add_argument("--results", type=Path, help=help_)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run studies, or draw what they have found."""
    parser = _parser()
    options = parser.parse_args(arguments)
    os.environ[VARIABLE] = options.device
    default = FULL if options.preset == "full" else ROOT / "results" / options.preset
    folder = options.results or default
    if "pages" in options.what and len(options.what) > 1:
        parser.error("pages are made of all tables: name no studies")
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
    """Write pages and figures of all tables."""
    for study in studies:
        with _told(study, folder):
            (folder / "figures").mkdir(exist_ok=True)
            if (table := _table(study, folder)).exists():
                read_table(table, study.keys)
    write_pages(studies, folder)


def _run(study: Study, todo: Sequence[Settings], folder: Path, jobs: int) -> None:
    """Compute what a table lacks, and draw it."""
    table, figures = _table(study, folder), folder / "figures"
    with _told(study, folder):
        figures.mkdir(parents=True, exist_ok=True)
        if (
            table.exists()
        ):  # a journal beside the table of another study would be left there
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
def _told(study: Study, folder: Path) -> Iterator[None]:
    """Tell in a line why files of a study cannot be read or written."""
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
