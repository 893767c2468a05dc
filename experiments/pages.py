"""Figures and the page of results, made from tables alone."""

from hashlib import sha256
from pathlib import Path

from experiments.store import read_table
from experiments.study import Study, settings_of

__all__ = ["write_figures"]


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
    table = read_table(path, tuple(settings_of(study, "tiny")[0]))
    written = []
    for name, figure in study.draw(table).items():
        file = folder / f"{study.name}-{name}.png"
        figure.savefig(file, dpi=100, metadata={"Source": checksum(path)})
        written.append(file)
    return written


def checksum(path: Path) -> str:
    """Return what tells the content of a file from others."""
    return sha256(path.read_bytes()).hexdigest()
