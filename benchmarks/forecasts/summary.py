"""Means of a table as text, without pandas."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

__all__ = ["summary"]

GAP = 2  # spaces between columns


def summary(path: Path) -> str:
    """Return the mean CRPS and CPU seconds to fit, by set and method.

    Parameters
    ----------
    path : Path
        The table.
    """
    crps, seconds = defaultdict(list), defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["data"], row["method"]
            crps[key].append(float(row["crps"] or "nan"))
            seconds[key].append(float(row["fit_seconds"] or "nan"))
    sets = list(dict.fromkeys(name for name, _ in crps))
    methods = list(dict.fromkeys(method for _, method in crps))
    lines = [["", "splits", *methods]]
    for name in sets:
        count = max(len(values) for (own, _), values in crps.items() if own == name)
        cells = (_cell(crps[name, method], seconds[name, method]) for method in methods)
        lines.append([name, str(count), *cells])
    widths = [max(map(len, column)) + GAP for column in zip(*lines, strict=True)]
    return "\n".join(
        "".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def _cell(crps: list[float], seconds: list[float]) -> str:
    """Return a mean with the seconds in brackets; a dash where there is no row."""
    if not crps:
        return "-"
    return f"{np.mean(crps):.5g} ({np.mean(seconds):.3g} s)"
