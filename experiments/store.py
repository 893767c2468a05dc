"""A table of results that survives a crash of its writer."""

import fcntl
import json
import os
import time
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import pandas as pd

__all__ = ["Row", "Settings", "Store", "read_table"]

Value: TypeAlias = int | float | str
Settings: TypeAlias = Mapping[str, Value]
Row: TypeAlias = dict[str, Value]
Key: TypeAlias = tuple[str, ...]

_PATIENCE = 5.0  # seconds to wait for a lock before it counts as another run's


class Store:
    """A CSV file with a journal beside it, to which results are appended.

    The results of one computation are one line of the journal, so that they are stored as a
    whole or not at all. Closing the store merges the journal into the table, sorted by
    settings.

    Parameters
    ----------
    path : Path
        The CSV file.
    names : tuple of str
        The names of the settings that identify a computation.
    """

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self.path, self.names = path, names
        path.parent.mkdir(parents=True, exist_ok=True)
        self._journal = _locked(_journal(path))
        try:
            self._rows = _stored(path, names)
            _mend(self._journal)
        except BaseException:
            self._journal.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._rows:
            table = pd.DataFrame([row for key in self._order() for row in self._rows[key]])
            part = self.path.with_suffix(".part")
            table.to_csv(part, index=False, float_format="%.6g")
            part.replace(self.path)
        _journal(self.path).unlink()
        self._journal.close()

    def __contains__(self, settings: Settings) -> bool:
        return self._key(settings) in self._rows

    def add(self, settings: Settings, rows: list[Row]) -> None:
        """Store the results of a computation, at least one row."""
        if not rows:
            msg = f"no results for {dict(settings)}"
            raise ValueError(msg)
        whole = [{**settings, **row} for row in rows]
        self._journal.write(json.dumps(whole) + "\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())
        self._rows[self._key(settings)] = whole

    def _key(self, settings: Settings) -> Key:
        return _key(settings, self.names)

    def _order(self) -> list[Key]:
        """Return the keys, sorted by their settings."""

        def place(key: Key) -> list[tuple[bool, float, str]]:
            return [_place(self._rows[key][0][name]) for name in self.names]

        return sorted(self._rows, key=place)


def read_table(path: Path, names: tuple[str, ...]) -> pd.DataFrame:
    """Return the results of a table, without those in its journal.

    Parameters
    ----------
    path : Path
        The CSV file.
    names : tuple of str
        The names of the settings, which must be among its columns.
    """
    table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    missing = [name for name in names if name not in table]
    if missing:
        msg = f"{path} has no columns {missing}: it is of another version of the study"
        raise ValueError(msg)
    return table


def _stored(path: Path, names: tuple[str, ...]) -> dict[Key, list[Row]]:
    """Return the rows of the file and of its journal, by their settings."""
    found: dict[Key, list[Row]] = {}
    if path.exists():
        for row in read_table(path, names).to_dict("records"):
            found.setdefault(_key(row, names), []).append(row)
    journal = _journal(path)
    for line in journal.read_text().splitlines(keepends=True) if journal.exists() else ():
        if line.endswith("\n"):  # else it was cut short
            rows = json.loads(line)
            if any(name not in rows[0] for name in names):
                msg = f"{journal} is of another version of the study"
                raise ValueError(msg)
            found.setdefault(_key(rows[0], names), rows)
    return found


def _journal(path: Path) -> Path:
    return path.with_suffix(".jsonl")


def _locked(path: Path) -> TextIOWrapper:
    """Return a journal that this process has locked.

    Orphaned workers of a killed run hold its lock until they notice that it is gone.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        journal = path.open("a+")
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            journal.close()
            if time.monotonic() > deadline:
                msg = f"another run is writing to {path}"
                raise RuntimeError(msg) from None
            time.sleep(0.1)
            continue
        if path.exists() and path.samefile(f"/dev/fd/{journal.fileno()}"):
            return journal
        journal.close()  # another run has finished and removed it


def _mend(journal: TextIOWrapper) -> None:
    """Truncate a line that was not written in full."""
    journal.seek(0)
    text = journal.read()
    journal.seek(0)
    journal.truncate(len(text[: text.rfind("\n") + 1].encode()))
    journal.seek(0, os.SEEK_END)


def _key(settings: Settings, names: tuple[str, ...]) -> Key:
    """Return a key that identifies settings; 1 and 1.0 are equal."""
    return tuple(_text(settings[name]) for name in names)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else repr(float(value))


def _place(value: Value) -> tuple[bool, float, str]:
    """Return a sort key: numbers before strings."""
    text = isinstance(value, str)
    return text, 0.0 if text else float(value), str(value) if text else ""
