"""Objects of users in a file, such as regressors of scikit-learn: stored by skops.

Skops stores arrays and attributes, and loads objects of types that it knows or that users
trust by name. The package is optional: ``pip install jointdist[files]``.
"""

import io
import zipfile
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import numpy as np

from jointdist._rules import Text
from jointdist.data.codec import Field, Place, Reader, Writer

__all__ = ["Foreign"]

_INSTALL = "`pip install jointdist[files]`"


class Foreign(Field):
    """Any object that skops can store, of types that are known to it or trusted.

    Parameters
    ----------
    trusted : collection of str
        The types that are trusted, by their full names.
    what : str
        What the object is, completing the sentence "must be ...".
    check : callable
        Tells whether an object is one.
    """

    def __init__(
        self, trusted: Collection[str], what: str, check: Callable[[Any], object]
    ) -> None:
        self.trusted, self.what, self.check = frozenset(trusted), what, check

    def fits(self, value: object) -> bool:
        return value is not None

    def write(self, value: Any, at: Place[Writer]) -> Any:
        if (id(value), "skops") not in at.walk.nodes_of:
            at.require(self.check(value), self.what, Text(f"a {type(value).__name__}"))
            data = np.frombuffer(self._dumped(value, at), np.uint8)
            node = {"skops": at.walk.store(data, at.path)}
            at.walk.remember(value, "skops", node)
        return at.walk.nodes_of[id(value), "skops"]

    def read(self, node: Any, at: Place[Reader]) -> Any:
        known = type(node) is dict and set(node) == {"skops"}
        at.require(known, self.what, Text("another entry"))
        array = at.walk.array(node["skops"], at)
        plain = array.dtype == np.uint8 and array.ndim == 1
        at.require(plain, "an array of bytes", Text(f"{array.dtype} array"))
        if ("skops", node["skops"]) not in at.walk.made:
            found = self._loaded(array.tobytes(), at)
            at.walk.made["skops", node["skops"]] = found
        value = at.walk.made["skops", node["skops"]]
        at.require(self.check(value), self.what, Text(f"a {type(value).__name__}"))
        return value

    def _dumped(self, value: Any, at: Place[Writer]) -> bytes:
        skops, name = self._skops(at), type(value).__name__
        try:
            data: bytes = skops.dumps(value)
            unknown = self._untrusted(skops, data)
        except Exception as error:  # of any object of users
            got = Text(f"{name}: {error}")
            at.require(False, f"{self.what} that skops can store, or pickle the model", got)
            raise
        rule = (
            f"of types that skops knows. If you trust the others, name them: `trusted="
            f"{unknown}`"
        )
        at.require(not unknown, rule, Text(name))
        return data

    def _loaded(self, data: bytes, at: Place[Reader]) -> Any:
        skops = self._skops(at)
        try:
            _require_plain(data)
            unknown = self._untrusted(skops, data)
        except Exception as error:  # of any bytes
            at.require(False, "an archive of skops", Text(type(error).__name__))
            raise
        rule = f"of types that you trust; if you do, name them: `trusted={unknown}`"
        at.require(not unknown, rule, Text("others"))
        try:
            return skops.loads(data, trusted=sorted(self.trusted))
        except Exception as error:
            at.require(False, "an archive that skops can load", Text(f"{error}"[:200]))
            raise

    def _untrusted(self, skops: Any, data: bytes) -> list[str]:
        return sorted(set(skops.get_untrusted_types(data=data)) - self.trusted)

    def _skops(self, at: Place[Any]) -> Any:
        """Return the package, if it is installed."""
        try:
            return import_module("skops.io")
        except ImportError:
            got = Text("one that needs skops, which is not installed")
            at.require(False, f"one of jointdist, or {_INSTALL}", got)
            raise


def _require_plain(data: bytes) -> None:
    """Raise unless an archive is no larger than its bytes: it could fill all memory."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    if not stored or sum(entry.file_size for entry in entries) > len(data):
        msg = "compressed"
        raise zipfile.BadZipFile(msg)
