"""Forged files of models, well formed and with a checksum that agrees, and what they answer."""

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import golden_files
import numpy as np
from golden import Data
from hostile_files import Named, Parts, _changed, _paths, joined, parts_of, with_arrays

import jointdist as jd

ODD: tuple[Any, ...] = (None, True, False, -1, 0, 1, 2, 7, 2**62, -1e308, 1e308, 0.5, "")
ODD += ("x" * 1000, [], {}, [[]], {"ref": 0}, {"ref": 3}, {"float": "nan"})
ODD += ({"float": "inf"}, "auto", "projected", "isotonic", "none", "INFEASIBLE")
OURS = re.compile(r"[\w.]+: `.*` must be ", re.DOTALL)
TYPES = {"F64": "<f8", "I64": "<i8", "U8": "|u1", "I32": "<i4", "BOOL": "|b1"}


def forged(data: bytes, count: int, rng: np.random.Generator) -> Named:
    """Yield named files, each with one array or one value of a good file changed."""
    parts = parts_of(data)
    paths = list(_paths(parts.values))
    for _ in range(count):
        if rng.random() < 0.5 and parts.table:
            yield _forged_array(parts, rng)
        else:
            yield _forged_value(parts, paths, rng)


def _forged_value(
    parts: Parts, paths: list[tuple[Any, ...]], rng: np.random.Generator
) -> tuple[str, bytes]:
    path = paths[rng.integers(len(paths))]
    if rng.random() < 0.3:  # what stands at another place of the tree
        other = _at(parts.values, paths[rng.integers(len(paths))])
    else:
        other = ODD[rng.integers(len(ODD))]
    values = _changed(parts.values, path, other, drop=bool(rng.random() < 0.05))
    return f"{path} is {other!s:.30}", joined(replace(parts, values=values))


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _forged_array(parts: Parts, rng: np.random.Generator) -> tuple[str, bytes]:
    names = list(parts.table)
    name = names[rng.integers(len(names))]
    entry = parts.table[name]
    array = np.frombuffer(parts.bytes_of(name), TYPES[entry["dtype"]]).copy()
    array = array.reshape(entry["shape"])
    what, changed = CHANGES[rng.integers(len(CHANGES))]
    with np.errstate(all="ignore"):
        made = np.ascontiguousarray(changed(array, rng)).astype(array.dtype)
    whole = {
        key: (each["dtype"], each["shape"], parts.bytes_of(key))
        for key, each in parts.table.items()
    }
    whole[name] = (entry["dtype"], list(made.shape), made.tobytes())
    return f"{name} {what}", with_arrays(parts, whole)


def _one(array: Any, rng: np.random.Generator, value: Any) -> Any:
    if array.size:
        array.reshape(-1)[rng.integers(array.size)] = value
    return array


def _shuffled(array: Any, rng: np.random.Generator) -> Any:
    return rng.permutation(array.reshape(-1)).reshape(array.shape)


CHANGES = [
    ("zeros", lambda a, _: np.zeros_like(a)),
    ("ones", lambda a, _: np.ones_like(a)),
    ("negated", lambda a, _: -a if a.dtype.kind in "fi" else a),
    ("reversed", lambda a, _: a[::-1]),
    ("shuffled", _shuffled),
    ("huge", lambda a, _: a * 1e300 if a.dtype.kind == "f" else a * 2 + 10**6 % 251),
    ("tiny", lambda a, _: a * 1e-300 if a.dtype.kind == "f" else a // 2),
    ("one NaN", lambda a, rng: _one(a, rng, np.nan if a.dtype.kind == "f" else 1)),
    ("one infinite", lambda a, rng: _one(a, rng, np.inf if a.dtype.kind == "f" else 0)),
    ("one zero", lambda a, rng: _one(a, rng, 0)),
    ("one large", lambda a, rng: _one(a, rng, 100)),
    ("one negative", lambda a, rng: _one(a, rng, -1) if a.dtype.kind in "fi" else a),
    ("one row less", lambda a, _: a[:-1] if a.ndim else a),
    ("one row more", lambda a, _: np.concatenate([a, a[-1:]]) if a.ndim else a),
    ("transposed", lambda a, _: a.T),
    ("constant", lambda a, _: np.full_like(a, a.reshape(-1)[0]) if a.size else a),
]


def questions(model: Any, data: Data) -> Iterator[Any]:
    """Yield functions that ask a model, each once."""
    yield lambda: model.predict(data.x)
    yield lambda: model.score(data.x, data.y)
    if hasattr(model, "predict_proba"):
        yield lambda: model.predict_proba(data.x)
    if hasattr(model, "given"):
        for name in ("mode", "weights", "novelty", "mean", "cov", "projection"):
            yield lambda name=name: getattr(model.given(data.x), name)()
        yield lambda: model.given(data.x).quantile([0.1, 0.9])
        yield lambda: model.given(data.x).sample(2, random_state=0)
        yield lambda: model.given(data.x).pdf(data.y)
        yield lambda: model.given(data.x).cdf(data.y)
    if hasattr(model, "ratio"):
        yield lambda: model.ratio(data.x, data.y)
        yield lambda: model.given(y=data.y[:2]).weights()
        yield lambda: model.marginal("y").weights()


def changes(model: Any, data: Data) -> Iterator[Any]:
    """Yield functions that fit a model again."""
    if hasattr(model, "refit"):
        yield lambda: model.refit(regularization=1.0).predict(data.x)
    if hasattr(model, "fit_like"):
        yield lambda: deepcopy(model).partial_fit(data.x, data.y).predict(data.x)
        yield lambda: deepcopy(model).forget(data.X[:3], data.Y[:3]).predict(data.x)
        yield lambda: model.merge(model.fit_like(data.x, data.y)).predict(data.x)


def outcome(ask: Any) -> str:
    """Return "answered" or "documented"; other errors are those that may not be."""
    try:
        ask()
    except jd.JointdistError:
        return "documented"
    except ValueError as error:
        if type(error) is not ValueError or not OURS.match(str(error)):
            raise
        return "documented"
    return "answered"


def tried(file: Any, data: Data, *, again: bool = False) -> str:
    """Load a file and ask its model everything; return "refused" or "loaded"."""
    try:
        model = jd.load(file)
    except jd.ModelFileError:
        return "refused"
    for ask in questions(model, data):
        outcome(ask)
    for ask in changes(model, data) if again else ():
        outcome(ask)
    return "loaded"


def tried_all(
    folder: Any, names: list[str], count: int, seed: int, *, again: bool = False
) -> Counter[str]:
    """Forge files of golden ones and try them; return how many were refused and loaded."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    warnings.simplefilter("ignore")
    for name in names:
        good, data = golden_files.file_of(name).read_bytes(), golden_files.data_of(name)
        for number, (what, forgery) in enumerate(forged(good, count, rng)):
            file = folder / f"{name}-{number}"
            file.write_bytes(forgery)
            try:
                found[tried(file, data, again=again)] += 1
            except Exception as error:
                error.add_note(f"{name}: {what}")
                raise
            file.unlink()
    return found


if __name__ == "__main__":  # python tests/forged_models.py FOLDER COUNT SEED [NAMES]
    import traceback
    from pathlib import Path

    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for case in sys.argv[4:] or list(golden_files.CASES):
        for i in range(count):
            try:
                tried_all(folder, [case], 1, seed + i, again=True)
            except Exception as error:  # noqa: BLE001
                told = traceback.extract_tb(error.__traceback__)[-4:]
                places = [f"{t.filename.rpartition('/')[2]}:{t.lineno}" for t in told]
                note = getattr(error, "__notes__", [""])[0]
                sys.stdout.write(f"{note}: {error!r:.120} {places}\n")
        sys.stdout.write(f"{case}\n")
        sys.stdout.flush()
