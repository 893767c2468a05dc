"""Tables of results as CSV files, written row by row with the standard library alone."""

import csv
import fcntl
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeAlias

__all__ = ["Table", "merge"]

Key: TypeAlias = tuple[str, ...]


class Table:
    """A CSV file to which rows are appended; what an interrupted run has written stays.

    Closing it sorts the rows by their keys.

    Parameters
    ----------
    path : Path
        The file.
    keys : sequence of str
        The columns that identify a row.
    columns : sequence of str
        All columns, with the keys first.
    """

    def __init__(self, path: Path, keys: Sequence[str], columns: Sequence[str]) -> None:
        self.path, self.keys, self.columns = path, tuple(keys), tuple(columns)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(path.with_suffix(".lock"))
        found = _whole(path, self.columns) if path.exists() else []
        self._rows = {self.key(row): row for row in found}
        self._rewrite()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._rewrite()
        self.path.with_suffix(".lock").unlink()
        self._lock.close()

    def __contains__(self, row: Mapping[str, object]) -> bool:
        return self.key(row) in self._rows

    @property
    def rows(self) -> list[dict[str, str]]:
        """All rows, as texts."""
        return list(self._rows.values())

    def key(self, row: Mapping[str, object]) -> Key:
        """Return what identifies a row."""
        return tuple(str(row[name]) for name in self.keys)

    def add(self, row: Mapping[str, object]) -> None:
        """Append a row; one with the same key is replaced."""
        unknown = set(row) - set(self.columns)
        if unknown:
            msg = f"{self.path.name} has no columns {sorted(unknown)}"
            raise ValueError(msg)
        texts = {name: _text(row.get(name, "")) for name in self.columns}
        again = texts in self
        self._rows[self.key(texts)] = texts
        if again:
            self._rewrite()
            return
        with self.path.open("a", newline="", encoding="utf-8") as file:
            _writer(file, self.columns).writerow(texts)
            _saved(file)

    def drop(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Remove rows."""
        for row in rows:
            self._rows.pop(self.key(row), None)
        self._rewrite()

    def _rewrite(self) -> None:
        """Write all rows in order; a crash leaves the file as it was."""
        ordered = sorted(self._rows.values(), key=lambda row: _place(self.key(row)))
        part = self.path.with_suffix(".part")
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = _writer(file, self.columns)
            writer.writeheader()
            writer.writerows(ordered)
            _saved(file)
        part.replace(self.path)


def merge(
    path: Path, others: Iterable[Path], keys: Sequence[str], columns: Sequence[str]
) -> int:
    """Add the rows of other tables to a table; the last with a key stays. Return their number.

    Parameters
    ----------
    path : Path
        The table.
    others : iterable of Path
        The other tables, later ones last.
    keys, columns : sequence of str
        As for :class:`Table`.
    """
    count = 0
    with Table(path, keys, columns) as table:
        for other in others:
            found = _whole(other, columns)
            count += len(found)
            for row in found:
                table.add(row)
    return count


def _locked(path: Path) -> IO[str]:
    """Return an open file that no other run can lock."""
    file = path.open("w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        msg = f"another run is writing to {path.with_suffix('.csv')}"
        raise RuntimeError(msg) from None
    return file


def _writer(file: IO[str], columns: Sequence[str]) -> "csv.DictWriter[str]":
    return csv.DictWriter(file, columns, lineterminator="\n")


def _saved(file: IO[str]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _whole(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a file that were written in full."""
    text = path.read_text(encoding="utf-8")
    reader = csv.DictReader(text[: text.rfind("\n") + 1].splitlines())
    missing = set(reader.fieldnames or columns) - set(columns)
    if missing:
        msg = f"{path} has other columns, {sorted(missing)}: it is of another version"
        raise ValueError(msg)
    return [{name: row.get(name) or "" for name in columns} for row in reader]


def _text(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"  # noqa: PLR0124  # NaN
    return str(value)


def _place(key: Key) -> list[tuple[bool, float, str]]:
    """Return a sort key: numbers by size, before texts."""
    return [
        (False, float(part), "") if part.isdecimal() else (True, 0.0, part) for part in key
    ]
