"""Run or resume the comparison: ``python -m benchmarks.peers --preset full``."""

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peers.data import SETS
from benchmarks.peers.methods import METHODS
from benchmarks.peers.report import TITLES, markdown
from benchmarks.peers.study import STUDY
from experiments.pages import write_figures
from experiments.store import read_table
from experiments.study import run

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute missing results, draw the figures, and print the selected sets as Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        epilog="\n".join(_epilog()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--preset", choices=list(STUDY.presets), default="quick")
    parser.add_argument("--sets", nargs="+", help="data sets of the preset; by default all")
    help_ = "folder of tables and figures; docs/results for full, results/PRESET otherwise"
    parser.add_argument("--results", type=Path, help=help_)
    options = parser.parse_args(arguments)
    full = options.preset == "full"
    default = ROOT / "docs" / "results" if full else ROOT / "results" / options.preset
    folder = options.results or default
    splits = STUDY.presets[options.preset]["splits"]
    unknown = sorted(set(options.sets or ()) - set(splits))
    if unknown:
        parser.error(f"--sets must be among {list(splits)}. Got {unknown}.")
    selected = {name: splits[name] for name in options.sets or splits}
    todo = list(STUDY.settings(selected))
    if not todo:
        parser.exit(1, "the files of these sets are missing, see JOINTDIST_SHARED\n")
    table = folder / "tables" / f"{STUDY.name}.csv"
    run(STUDY, todo, table)
    write_figures(STUDY, table, folder / "figures")
    found = read_table(table, STUDY.keys)
    print(markdown(found[found["data"].isin(selected)]))


def _epilog() -> Iterator[str]:
    """Yield the data sets of each preset, and the methods for each kind of task."""
    for name, preset in STUDY.presets.items():
        yield _listed(f"sets of {name}", [f'"{data}"' for data in preset["splits"]])
    for kind, methods in METHODS.items():
        sets = [f'"{name}"' for name, source in SETS.items() if source.kind == kind]
        labels = [
            name if method.version else f"{name} (not installed)"
            for name, method in methods.items()
        ]
        yield ""
        yield TITLES[kind]
        yield _listed("  sets", sets)
        yield _listed("  methods", labels)


def _listed(head: str, names: list[str]) -> str:
    """Return a list in lines, without a line break inside a name."""
    joined = "; ".join(name.replace(" ", "\xa0") for name in names)
    wrapper = textwrap.TextWrapper(79, subsequent_indent="    ", break_on_hyphens=False)
    return wrapper.fill(f"{head}: {joined}").replace("\xa0", " ")


if __name__ == "__main__":
    main()
