"""Daily returns of 25 portfolios formed on size and book-to-market."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from jointdist._rules import Text, require, require_kind
from jointdist.datasets.sections import Columns, Section, daily_sections
from jointdist.datasets.table import Table

__all__ = ["Location", "Weighting", "fetch_french_portfolios"]

Location: TypeAlias = str | os.PathLike[str]
Weighting: TypeAlias = Literal["value", "equal"]

_WHERE = "fetch_french_portfolios"
_SITE = "https://mba.tuck.dartmouth.edu/pages/faculty/ken.french/ftp/"
_FILES = "25_Portfolios_5x5_Daily", "F-F_Research_Data_Factors_daily"
_PORTFOLIOS = tuple(f"ME{i}_BM{j}" for i in range(1, 6) for j in range(1, 6))
_FACTORS = "Mkt_RF", "SMB", "HML", "RF"
_CORNERS = {"SMALL LoBM": 0, "SMALL HiBM": 4, "BIG LoBM": 20, "BIG HiBM": 24}
_OTHER_NAMES = {name: _PORTFOLIOS[k] for name, k in _CORNERS.items()} | {
    f"S_BM{k}": name for k, name in enumerate(_PORTFOLIOS)
}


def fetch_french_portfolios(
    path: Location | tuple[Location, Location] | None = None,
    data_home: Location | None = None,
    *,
    weighting: Weighting = "value",
) -> Table:
    r"""Return daily excess returns of 25 portfolios formed on size and book-to-market.

    Without ``path`` the files are downloaded from Kenneth French's site once, and kept.
    They change with each vintage of the data; delete them to have the latest. The data
    are copyright of Fama and French.

    Parameters
    ----------
    path : path, pair of paths or None, default=None
        Files in his format: that of the portfolios and that of the factors, or the
        folder that holds both under the names he gives them,
        ``25_Portfolios_5x5_Daily...`` and ``F-F_Research_Data_Factors_daily...``. A
        single file has columns of portfolios and of factors, or those of portfolios if
        it stands beside a file of factors. Files are CSV, or a zip or gzip file of one.
        None is his site.
    data_home : path or None, default=None
        The folder in whose ``french`` downloads are kept. None is that of scikit-learn,
        ``~/scikit_learn_data`` if nothing else was said.
    weighting : {"value", "equal"}, default="value"
        How stocks are weighted in portfolios. A table without a title is taken as value
        weighted.

    Returns
    -------
    Table
        One row for each day that both files have: ``date`` (datetime64), the returns
        ``ME1_BM1`` (small, low book-to-market) to ``ME5_BM5`` less that of Treasury
        bills, and the factors ``Mkt_RF``, ``SMB``, ``HML``, ``RF``, all in percent.
        Missing values are NaN.

    Raises
    ------
    ConnectionError
        If a file cannot be downloaded.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from jointdist.datasets import fetch_french_portfolios
    >>> names = [f"ME{i} BM{j}" for i in range(1, 6) for j in range(1, 6)]
    >>> head = ",".join(["", *names, "Mkt-RF", "SMB", "HML", "RF"])
    >>> row = ",".join(["20200102", *25 * ["0.5"], "0.86", "-0.97", "-0.34", "0.006"])
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "portfolios.csv"
    ...     _ = file.write_text(f"{head}\n{row}\n")
    ...     table = fetch_french_portfolios(file)
    >>> table["date"], table["ME1_BM1"], table["RF"]
    (array(['2020-01-02'], dtype='datetime64[D]'), array([0.494]), array([0.006]))
    """
    require_kind(_WHERE, "weighting", weighting, Weighting)
    first, second = _kept(data_home) if path is None else _given(path)
    portfolios, factors = _portfolios(first, weighting), _factors(second)
    days, i, j = np.intersect1d(
        portfolios["date"], factors["date"], assume_unique=True, return_indices=True
    )
    got = Text(f"none in {first} and {second}")
    require(days.size, _WHERE, "path", "two files with days in common", got)
    excess = {name: portfolios[name][i] - factors["RF"][j] for name in _PORTFOLIOS}
    return Table({"date": days} | excess | {name: factors[name][j] for name in _FACTORS})


def _kept(data_home: Location | None) -> list[Path]:
    """Return the files of his site, from the folder where they are kept."""
    from sklearn.datasets import get_data_home  # noqa: PLC0415 - slow to import

    from jointdist.datasets.cache import cached  # noqa: PLC0415 - likewise

    known = data_home is None or isinstance(data_home, str | os.PathLike)
    require(known, _WHERE, "data_home", "a path or None", data_home)
    home = None if data_home is None else os.fspath(data_home)
    folder = Path(get_data_home(home)) / "french"
    return cached(_WHERE, _SITE, [f"{name}_CSV.zip" for name in _FILES], folder)


def _given(path: object) -> list[Path]:
    """Return the files of portfolios and of factors that the user means."""
    given = list(path) if (several := isinstance(path, tuple | list)) else [path]
    paths = [Path(place) for place in given if isinstance(place, str | os.PathLike)]
    rule = "a path, a pair of paths or None"
    require(len(paths) == len(given) == 1 + several, _WHERE, "path", rule, path)
    if several:
        rule = "a folder, or a pair of files: of the portfolios, and of the factors"
        folders = [str(place) for place in paths if place.is_dir()]
        got = Text(f"the folder {' and the folder '.join(folders)} in a pair")
        require(not folders, _WHERE, "path", rule, got)
        return paths
    place = paths[0]
    if place.is_dir():
        return [_inside(place, name) for name in _FILES]
    has_factors = any(set(_FACTORS) <= set(section.names) for section in _sections(place))
    return [place, place if has_factors else _inside(place.parent, _FILES[1])]


def _inside(folder: Path, name: str) -> Path:
    """Return the file of a folder whose name starts as he calls it."""
    files = [file for file in sorted(folder.iterdir()) if file.suffix != ".sha256"]
    found = [file for file in files if file.name.lower().startswith(name.lower())]
    rule = f"a folder with one file {name}..."
    got = Text(f"{folder} with {[file.name for file in found]}")
    require(len(found) == 1, _WHERE, "path", rule, got)
    return found[0]


def _portfolios(file: Path, weighting: Weighting) -> Columns:
    """Return the dates and the returns of a file of portfolios."""
    sections, title = _sections(file), f"{weighting} weighted"
    few = all(len(section.names) < len(_PORTFOLIOS) for section in sections)
    factors = few and any(set(_FACTORS) <= set(section.names) for section in sections)
    rule = "a file of portfolios, which comes first in a pair"
    require(not factors, _WHERE, "path", rule, Text(f"a file of factors, {file}"))
    found = [s for s in sections if title in (s.title or "value weighted").lower()]
    rule = f"a file with one table of days whose title is about {title} returns"
    got = Text(f"{file} with {[section.title for section in sections]}")
    require(len(found) == 1, _WHERE, "path", rule, got)
    names = [name for name in found[0].names if name not in _FACTORS]
    rule = "a file of the 25 portfolios SMALL LoBM, ME1 BM2, ..., BIG HiBM"
    got = Text(f"{file} with {', '.join(names)}")
    require(sorted(names) == sorted(_PORTFOLIOS), _WHERE, "path", rule, got)
    return found[0].read()


def _factors(file: Path) -> Columns:
    """Return the dates and the columns of a file of factors."""
    sections = _sections(file)
    found = [s for s in sections if set(_FACTORS) <= set(s.names)]
    got = Text(f"{file} with {[section.names for section in sections]}")
    rule = "a file with one table of days that has columns Mkt-RF, SMB, HML and RF"
    require(len(found) == 1, _WHERE, "path", rule, got)
    return found[0].read()


def _sections(file: Path) -> list[Section]:
    """Return the tables of a file, with our names of columns."""
    sections = daily_sections(_WHERE, file)
    return [replace(s, names=[_name(name) for name in s.names]) for s in sections]


def _name(name: str) -> str:
    return _OTHER_NAMES.get(name, name.replace(" ", "_").replace("-", "_"))
