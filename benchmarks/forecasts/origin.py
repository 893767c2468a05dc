"""Where rows come from: the revision of the code, the machine, and the day."""

import os
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from experiments.machine import machine

__all__ = ["REVISION", "origin", "revision"]

REVISION = "JOINTDIST_REVISION"  # environment variable, for checkouts without git


@cache
def revision() -> str:
    """Return the commit of this package that is in use; ``+`` if its files were changed."""
    if named := os.environ.get(REVISION):
        return named
    import jointdist  # noqa: PLC0415  # peers may lack what it needs

    folder = Path(jointdist.__file__).parent
    try:
        commit = _git(folder, "rev-parse", "--short=7", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + "+" * bool(changed)


def _git(folder: Path, *arguments: str) -> str:
    call = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(call, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def origin() -> dict[str, str]:
    """Return the machine and the date."""
    return {"machine": machine(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
