"""Figures and pages of results, made from tables alone."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pandas as pd

from experiments.markdown import grid
from experiments.store import read_table
from experiments.study import Study

__all__ = ["checksum", "made", "pages", "write_figures", "write_pages"]

INTRODUCTION = """\
# Results

The numerical experiments of the paper, section 5, and a comparison with other packages. Tables
and pictures here come from the files in `tables/`, one row for each model and run;
`python -m experiments pages` makes pages and pictures from them. `make experiments` makes such
files, with 100 runs at all sizes, which takes days and, with the paper's pivots at the largest
sizes, much memory; the columns *runs* and *made* tell what was run here. A study that is stopped
goes on where it was. Lines in pictures are means over runs, bars go from the 5 % to the 95 %
quantile.

The figures of the paper are not public in numbers, so what is compared are its claims in words:
the column *here* says what these tables say of them. *Dominates* compares means over runs, *on
par* is at most 5 % worse, *by far* at most half, *robust* and *minimally* less than twice,
*severely* more than 20 %, *hardly any* below 1 %, *orders of magnitude* more than ten times; times
between half and twice as long *cannot be told apart*.

Laws that are made valid one by one are examined on [a page of their own](proper.md).
"""


def write_figures(study: Study, path: Path, folder: Path) -> list[Path]:
    """Draw the figures of a study, each of which names the table it was drawn from.

    Parameters
    ----------
    study : Study
        The study.
    path : Path
        Its table.
    folder : Path
        Where figures go.
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
        Where tables are, and pages go.
    """
    known = [study for study in studies if _path(study, folder).exists()]
    for study in known:
        write_figures(study, _path(study, folder), folder / "figures")
    for name, text in pages(known, folder).items():
        (folder / name).write_text(text, encoding="utf-8")


def pages(studies: Iterable[Study], folder: Path) -> dict[str, str]:
    """Return the pages by the names of their files.

    Parameters
    ----------
    studies : iterable of Study
        Studies with a table.
    folder : Path
        Where tables and figures are.
    """
    found, index, claims = {}, [], []
    for study in studies:
        table = _table(study, _path(study, folder))
        found[f"{study.name}.md"] = _page(study, table, folder)
        index.append([f"[{study.name}]({study.name}.md)", study.title, made(table)])
        claims += [[study.name, *claim] for claim in study.claims(table)]
    heads = ["study", "claim of the paper", "here", "numbers"]
    parts = [INTRODUCTION, grid(["study", "about", "made"], index)]
    if claims:
        parts += ["## Claims of the paper", grid(heads, claims)]
    return {"README.md": _joined(parts), **found}


def checksum(path: Path) -> str:
    """Return what tells the content of a file from others."""
    return sha256(path.read_bytes()).hexdigest()


def _page(study: Study, table: pd.DataFrame, folder: Path) -> str:
    """Return the page of a study: words and tables, then its pictures."""
    files = sorted((folder / "figures").glob(f"{study.name}-*.png"))
    pictures = [f"![{file.stem}](figures/{file.name})" for file in files]
    return _joined([f"# {study.title}", study.report(table), *pictures, made(table)])


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _path(study: Study, folder: Path) -> Path:
    return folder / "tables" / f"{study.name}.csv"


def _table(study: Study, path: Path) -> pd.DataFrame:
    return read_table(path, study.keys)


def made(table: pd.DataFrame) -> str:
    """Return when and where a table was made."""
    days = sorted(table["date"].unique())
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    machines = sorted(table["machine"].unique())
    if len(machines) == 1 or "n" not in table:
        return f"{when}, {', '.join(machines)}"
    sizes = table.groupby("machine")["n"].agg(["min", "max"]).sort_values("min")
    where = (f"{name} (n = {a:,} to {b:,})" for name, a, b in sizes.itertuples())
    return f"{when}, {', '.join(where)}"
