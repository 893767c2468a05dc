"""Zip files from the web, kept in a folder with their SHA-256 checksums."""

from collections.abc import Sequence
from hashlib import sha256
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812

from jointdist._rules import Text, require

__all__ = ["cached"]

_TIMEOUT = 60.0  # seconds without a byte, after which a download fails


def cached(where: str, site: str, names: Sequence[str], folder: Path) -> list[Path]:
    """Return zip files, each downloaded unless the folder holds it.

    The SHA-256 of each download is kept beside the file and compared whenever the file is
    used. Files that users put there themselves have none.

    Parameters
    ----------
    where : str
        The function the user called, for messages.
    site : str
        The address of all files, up to their names.
    names : sequence of str
        The names of the files.
    folder : Path
        Where they are kept.
    """
    found = [folder / name for name in names]
    for file in found:
        if file.exists():
            _verify(where, file)
            continue
        try:
            content = _downloaded(site + file.name)
        except (OSError, HTTPException) as error:
            msg = (
                f"{where}: {site}{file.name} could not be downloaded ({error}). Download "
                f"{' and '.join(names)} from {site} by other means, and pass the folder "
                "that holds them as `path`."
            )
            raise ConnectionError(msg) from error
        _write(_sum_of(file), f"{sha256(content).hexdigest()}  {file.name}\n".encode())
        _write(file, content)
    return found


def _downloaded(address: str) -> bytes:
    with urlopen(address, timeout=_TIMEOUT) as answer:  # noqa: S310 - never the user's
        content: bytes = answer.read()
    try:
        with ZipFile(BytesIO(content)) as archive:
            broken = archive.testzip()
    except (BadZipFile, ZlibError) as error:
        raise OSError(str(error)) from error
    if broken is not None:
        msg = f"bad CRC-32 of {broken}"
        raise OSError(msg)
    return content


def _sum_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def _write(file: Path, content: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=file.parent) as folder:
        written = Path(folder) / file.name
        written.write_bytes(content)
        written.replace(file)


def _verify(where: str, file: Path) -> None:
    record = _sum_of(file)
    if not record.exists():
        return
    same = record.read_text("utf-8").split()[:1] == [sha256(file.read_bytes()).hexdigest()]
    rule = (
        "a folder whose files are those that were downloaded, by their SHA-256; delete "
        "the file, and it is downloaded again"
    )
    require(same, where, "data_home", rule, Text(f"another SHA-256 of {file}"))
