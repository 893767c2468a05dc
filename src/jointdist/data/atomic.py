"""Files that are written whole or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["replace_file"]


def replace_file(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside its place, and move it there once it is whole and on disk.

    After any failure or interrupt what was there before is there still, and nothing else.
    A file that is replaced keeps its permissions; a symbolic link stays, and the file that
    it leads to is replaced.

    Parameters
    ----------
    path : path-like
        The file.
    write : callable
        Writes to the file that it is given.

    Raises
    ------
    OSError
        Where the file cannot be written.
    """
    target, mode = _target(path)
    beside = target.parent / f".jointdist-{secrets.token_hex(8)}.tmp"

    def create(name: str, flags: int) -> int:
        return os.open(name, flags, 0o666 if mode is None else mode)

    try:
        with open(beside, "xb", opener=create) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:  # of which the umask may have taken some
            beside.chmod(mode)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _target(path: str | os.PathLike[str]) -> tuple[Path, int | None]:
    """Return the file to replace, and its permissions if it exists."""
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error)) from error
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")
    return target, stat.S_IMODE(mode) & 0o777


def _sync_folder(folder: Path) -> None:
    """Put the names of files on disk, on systems where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
