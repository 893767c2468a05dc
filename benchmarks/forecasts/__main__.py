"""Run or resume the benchmark: ``python -m benchmarks.forecasts --jobs 2``."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.forecasts.scores import LARGE_SECTION, SCORES
from benchmarks.forecasts.section import Request, Section, run
from benchmarks.forecasts.seeds import SEEDS
from benchmarks.forecasts.sets import PACKED, pack
from benchmarks.forecasts.simulated import SIMULATED
from benchmarks.forecasts.store import merge
from benchmarks.forecasts.summary import summary
from benchmarks.forecasts.times import TIMES
from benchmarks.forecasts.variants import ABLATION

ROOT = Path(__file__).parents[2]
PAGE = "forecasts.md"
SECTIONS: dict[str, Section] = {
    section.name: section
    for section in (SCORES, LARGE_SECTION, SIMULATED, SEEDS, TIMES, ABLATION)
}
PRESETS = ("tiny", "development", "evaluation")


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute missing rows, and write the page or print means."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.pack:
        pack(options.pack)
        return
    if options.data:
        os.environ[PACKED] = str(options.data.resolve())
    final = options.preset == "evaluation"
    default = ROOT / "docs" / "results" if final else ROOT / "results" / options.preset
    folder = options.results or default
    sections = [SECTIONS[name] for name in options.sections or SECTIONS]
    if options.merge:
        _merge(folder, options.merge)
    elif not options.page:
        _require_known(parser, options, sections)
        request = Request(options.preset, options.methods, options.sets, options.splits)
        how = {"jobs": options.jobs, "limit": options.limit, "refresh": options.refresh}
        for section in sections:
            run(section, request, folder, **how)
    if final:
        _write_page(folder)
    else:
        _print_means(folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.forecasts", description=__doc__
    )
    parser.add_argument("--preset", choices=PRESETS, default="evaluation")
    parser.add_argument("--sections", nargs="+", choices=list(SECTIONS))
    parser.add_argument("--sets", nargs="+", help="data sets or cases; by default all")
    parser.add_argument("--splits", nargs="+", type=int, help="numbers of splits, or seeds")
    parser.add_argument("--methods", nargs="+", help="methods; by default all installed")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    help_ = "CPU seconds after which a method is stopped; by default never"
    parser.add_argument("--limit", type=float, default=0.0, help=help_)
    help_ = "compute rows again that are of another revision of this package"
    parser.add_argument("--refresh", action="store_true", help=help_)
    help_ = "folder of page and tables; docs/results for evaluation, else results/PRESET"
    parser.add_argument("--results", type=Path, help=help_)
    parser.add_argument("--page", action="store_true", help="only write the page")
    help_ = "add the tables of another folder, such as one of another machine, to these"
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FOLDER", help=help_)
    parser.add_argument(
        "--pack", type=Path, metavar="FILE", help="write all data to one file, and stop"
    )
    help_ = "a file that --pack has written, instead of the folder of data"
    parser.add_argument("--data", type=Path, metavar="FILE", help=help_)
    return parser


def _require_known(
    parser: argparse.ArgumentParser, options: argparse.Namespace, sections: list[Section]
) -> None:
    """End with a message unless methods and sets are known to a section."""
    methods = [name for section in sections for name in section.known]
    cases = [case for section in sections for case in section.cases(options.preset)]
    sets = [str(case["data"]) for case in cases]
    for option, found, known in (
        ("--methods", options.methods, methods),
        ("--sets", options.sets, sets),
    ):
        unknown = sorted(set(found or ()) - set(known))
        if unknown:
            parser.error(
                f"{option} must be among {list(dict.fromkeys(known))}. Got {unknown}."
            )


def _merge(folder: Path, others: Sequence[Path]) -> None:
    for section in SECTIONS.values():
        paths = [path for other in others if (path := section.path(other)).exists()]
        if paths:
            path = section.path(folder)
            count = merge(path, paths, section.keys, section.columns)
            print(f"{path}: {count} rows of other tables", file=sys.stderr)


def _write_page(folder: Path) -> None:
    """Write the page, and print the verdicts; without pandas there is none."""
    try:
        from benchmarks.forecasts.report import claims, page, tables  # noqa: PLC0415
    except ModuleNotFoundError as error:
        print(f"no page: {error}", file=sys.stderr)
        return
    found = tables(folder)
    (folder / PAGE).write_text(page(found), encoding="utf-8")
    for claim in claims(found):
        print(f"{claim.verdict}: {claim.text} {claim.numbers}")


def _print_means(folder: Path) -> None:
    for section in SECTIONS.values():
        if (path := section.path(folder)).exists():
            print(f"{section.name}\n{summary(path)}")


if __name__ == "__main__":
    main()
