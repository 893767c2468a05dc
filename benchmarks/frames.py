"""How far it is from `fit` to the mathematics: files, functions and frames of a default fit.

``python benchmarks/frames.py`` counts, for ``JointDistribution().fit`` with nothing given and
with given kernels, the functions of the package that are entered, the files that they are in,
and the deepest stack of its frames; and the frames from ``fit`` to the closed form and to the
choice of pivots. ``--files`` lists the files. Frames of comprehensions and lambdas count.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import jointdist as jd

_HOME = str(Path(jd.__file__).parent)
_TARGETS = {
    "closed form": {"closed_form"},
    "pivots": {"one_by_one", "greedy", "in_rounds", "pivots_in_rounds"},
}


@dataclass
class Walk:
    """The frames of the package that a call enters."""

    functions: set[tuple[str, str]] = field(default_factory=set)
    files: Counter[str] = field(default_factory=Counter)
    depth: int = 0
    deepest: list[str] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)

    def enter(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Note a frame when it is entered."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_HOME):
            return
        key = str(Path(code.co_filename).relative_to(_HOME)), code.co_qualname
        self.functions.add(key)
        self.files[key[0]] += 1
        stack, at = [], frame
        while at is not None:
            if at.f_code.co_filename.startswith(_HOME):
                stack.append(f"{Path(at.f_code.co_filename).name}:{at.f_code.co_qualname}")
            at = at.f_back
        if len(stack) > self.depth:
            self.depth, self.deepest = len(stack), stack[::-1]
        for name, functions in _TARGETS.items():
            if code.co_name in functions:
                self.reached[name] = min(self.reached.get(name, len(stack)), len(stack))


def walked(call: Callable[[], Any]) -> Walk:
    """Return the frames that a call enters, in all its threads."""
    walk = Walk()
    threading.setprofile(walk.enter)
    sys.setprofile(walk.enter)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def fits() -> dict[str, Walk]:
    """Return the walks of a default fit, and of one with given kernels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=1000)
    one = jd.Executor(workers=1) if hasattr(jd, "Executor") else None
    gauss = jd.kernels.Gaussian(1.0)
    default = jd.JointDistribution(random_state=0, verbose=0, executor=one)
    given = jd.JointDistribution(
        gauss, gauss, regularization=1e-3, random_state=0, verbose=0, executor=one
    )
    return {
        "default": walked(lambda: default.fit(X, y)),
        "given kernels": walked(lambda: given.fit(X, y)),
    }


def main() -> None:
    """Print the counts."""
    for name, walk in fits().items():
        print(
            f"{name}: {len(walk.functions)} functions in {len(walk.files)} files, "
            f"depth {walk.depth}; frames to "
            + ", ".join(f"{what} {n}" for what, n in sorted(walk.reached.items()))
        )
        if "--files" in sys.argv:
            print("  " + "\n  ".join(sorted(walk.files)))
        if "--deepest" in sys.argv:
            print("  " + "\n  ".join(walk.deepest))


if __name__ == "__main__":
    main()
