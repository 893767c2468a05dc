"""Figures and pages of results, generated from tables alone."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pandas as pd

from experiments.markdown import grid
from experiments.store import read_table
from experiments.study import Study

__all__ = ["checksum", "pages", "provenance", "write_figures", "write_pages"]

INTRODUCTION = """\
# Results

The numerical experiments of the paper, section 5, and a comparison with other packages. The files
in `tables/` have one row for each model and run; `python -m experiments pages` generates all pages
and figures from them. `make experiments` computes such files with 100 runs at all sizes. That takes
days and, with the paper's pivots at the largest sizes, much memory; the columns *runs* and
*computed* state what these results contain. An interrupted study resumes where it stopped. Lines in
figures are means over runs; bars extend from the 5 % to the 95 % quantile.

The paper publishes its figures without numbers, so these pages check its verbal claims; the column
*verdict* states whether the tables support them. *Dominates* compares means over runs, *on par* is
at most 5 % worse, *by far* at most half, *robust* and *minimally* less than twice, *severely* more
than 20 %, *hardly any* below 1 %, *orders of magnitude* more than ten times; times between half and
twice as long *cannot be told apart*.

[Proper distributions](proper.md) evaluates projected conditional distributions, and
[Forecasts](forecasts.md) forecasts of one outcome beside other packages and published figures, on
pages of their own.
"""


def write_figures(study: Study, path: Path, folder: Path) -> list[Path]:
    """Draw the figures of a study; each one stores the checksum of its table.

    Parameters
    ----------
    study : Study
        The study.
    path : Path
        Its table.
    folder : Path
        The folder of the figures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in study.draw(_table(study, path)).items():
        file = folder / f"{study.name}-{name}.png"
        figure.savefig(file, dpi=100, metadata={"Source": checksum(path)})
        written.append(file)
    return written


def write_pages(studies: Iterable[Study], folder: Path) -> None:
    """Write the pages of all studies that have a table, and draw their figures.

    Parameters
    ----------
    studies : iterable of Study
        The studies.
    folder : Path
        The folder of tables and pages.
    """
    known = [study for study in studies if _path(study, folder).exists()]
    for study in known:
        write_figures(study, _path(study, folder), folder / "figures")
    for name, text in pages(known, folder).items():
        (folder / name).write_text(text, encoding="utf-8")


def pages(studies: Iterable[Study], folder: Path) -> dict[str, str]:
    """Return the pages by file name.

    Parameters
    ----------
    studies : iterable of Study
        Studies with a table.
    folder : Path
        The folder of tables and figures.
    """
    found, index, claims = {}, [], []
    for study in studies:
        table = _table(study, _path(study, folder))
        found[f"{study.name}.md"] = _page(study, table, folder)
        index.append([f"[{study.name}]({study.name}.md)", study.title, provenance(table)])
        claims += [[study.name, *claim] for claim in study.claims(table)]
    heads = ["study", "claim of the paper", "verdict", "numbers"]
    parts = [INTRODUCTION, grid(["study", "subject", "computed"], index)]
    if claims:
        parts += ["## Claims of the paper", grid(heads, claims)]
    return {"README.md": _joined(parts), **found}


def checksum(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    return sha256(path.read_bytes()).hexdigest()


def _page(study: Study, table: pd.DataFrame, folder: Path) -> str:
    """Return the page of a study: its report, then its figures."""
    files = sorted((folder / "figures").glob(f"{study.name}-*.png"))
    figures = [f"![{file.stem}](figures/{file.name})" for file in files]
    return _joined([f"# {study.title}", study.report(table), *figures, provenance(table)])


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _path(study: Study, folder: Path) -> Path:
    return folder / "tables" / f"{study.name}.csv"


def _table(study: Study, path: Path) -> pd.DataFrame:
    return read_table(path, study.keys)


def provenance(table: pd.DataFrame) -> str:
    """Return when and on which machines a table was computed."""
    days = sorted(table["date"].unique())
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    machines = sorted(table["machine"].unique())
    if len(machines) == 1 or "n" not in table:
        return f"{when}, {', '.join(machines)}"
    sizes = table.groupby("machine")["n"].agg(["min", "max"]).sort_values("min")
    where = (f"{name} (n = {a:,} to {b:,})" for name, a, b in sizes.itertuples())
    return f"{when}, {', '.join(where)}"
