"""The format of Kenneth French's data library: tables one under another in a text file.

A table is a line of names followed by rows, each of a date and numbers between commas, up
to an empty line or the end. The last line of text above it is its title. All else, such as
an introduction and a copyright line, is text.
"""

import gzip
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text, require

__all__ = ["Columns", "Section", "daily_sections"]

Columns: TypeAlias = dict[str, NDArray[Any]]

_ROW = re.compile(r"\s*\d{8}\s*,")  # months have six digits, years four
_MISSING = -99.99  # and -999; no return is lower


@dataclass(frozen=True, slots=True)
class Section:
    """A table of days, not read yet.

    Attributes
    ----------
    where : str
        The function the user called, for messages.
    file : Path
        Where it is.
    title : str
        What stands above it, if anything.
    names : list of str
        The names of its columns, without that of dates.
    rows : list of str
        Its rows.
    start : int
        The number of the first row among the lines of the file, from 1.
    """

    where: str
    file: Path
    title: str
    names: list[str]
    rows: list[str]
    start: int

    def read(self) -> Columns:
        """Return the columns, and the dates as ``date``; NaN where values are missing."""
        count = len(self.names)
        wrong = [i for i, row in enumerate(self.rows) if row.count(",") != count]
        rule = f"a file with {count} numbers after each date, like its header"
        self.require(not wrong, rule, wrong)
        dates = [row.split(",", 1)[0].strip() for row in self.rows]
        try:
            values = np.loadtxt(self.rows, delimiter=",", comments=None, ndmin=2)[:, 1:]
            days = np.array([f"{d[:4]}-{d[4:6]}-{d[6:]}" for d in dates], dtype="M8[D]")
        except ValueError as error:
            got = Text(f"{error} (from line {self.start} of {self.file})")
            require(False, self.where, "path", "a file of numbers after dates", got)
            raise
        late = 1 + np.flatnonzero(days[1:] <= days[:-1])
        self.require(not late.size, "a file whose dates increase", late)
        values[values <= _MISSING] = np.nan
        return {"date": days} | dict(zip(self.names, values.T, strict=True))

    def require(self, ok: object, rule: str, rows: Any) -> None:
        """Raise unless ``ok``, naming the first of some rows."""
        if not ok:
            line, row = self.start + int(rows[0]), self.rows[int(rows[0])]
            got = Text(f"line {line} of {self.file}: {row[:60]!r}")
            require(False, self.where, "path", rule, got)


def daily_sections(where: str, file: Path) -> list[Section]:
    """Return the tables of a file whose rows are days.

    Parameters
    ----------
    where : str
        The function the user called, for messages.
    file : Path
        A CSV file, or a zip or gzip file of one.
    """
    lines = _text(where, file).splitlines()
    is_row = [_ROW.match(line) is not None for line in lines] + [False]
    found, stop = [], 0
    while True in is_row[stop:]:
        start = is_row.index(True, stop)
        stop = is_row.index(False, start)
        rest = "".join(lines[stop : stop + 1])
        got = Text(f"line {stop + 1} of {file}: {rest[:60]!r}")
        rule = "a file whose rows start with a date YYYYMMDD, up to an empty line"
        require(not rest.strip(), where, "path", rule, got)
        above = [line.strip() for line in lines[:start]]
        names = [name.strip() for name in above.pop().split(",")[1:]] if above else []
        title = next((line for line in reversed(above) if line), "")
        found.append(Section(where, file, title, names, lines[start:stop], start + 1))
    got = Text(f"none in {file}")
    require(found, where, "path", "a file with rows of days, dated YYYYMMDD", got)
    return found


def _text(where: str, file: Path) -> str:
    content = file.read_bytes()
    rule = "a CSV file, or a zip or gzip file of one"
    try:
        if content.startswith(b"PK"):
            with ZipFile(BytesIO(content)) as archive:
                names = archive.namelist()
                got = Text(f"{names} in {file}")
                require(len(names) == 1, where, "path", rule, got)
                content = archive.read(names[0])
        elif content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (BadZipFile, EOFError, OSError, ZlibError) as error:
        require(False, where, "path", f"{rule}, and whole", Text(f"{file}: {error}"))
    return content.decode("latin-1")
