"""Fields for the parameters of estimators: kernels, seeds, selections, weights of classes."""

from typing import Any

import numpy as np

from jointdist._rules import Text
from jointdist.data.codec import (
    Either,
    Field,
    Flag,
    Number,
    Place,
    Reader,
    Sequence,
    Tuple,
    Value,
    Whole,
    Writer,
)
from jointdist.data.codec import Text as Str
from jointdist.data.fold_arguments import is_count
from jointdist.kernels.files import KERNELS
from jointdist.models.outcome_shape import bounds_of
from jointdist.selection.specification import Selection

__all__ = [
    "ClassWeights",
    "KernelParameter",
    "Seeds",
    "SelectionParameter",
    "SupportParameter",
]


class KernelParameter(Field):
    """A kernel of the package, or "auto"; those that users write are code, which no file has."""

    def __init__(self) -> None:
        self.field = Either(Str("auto"), Value(*KERNELS, what="a kernel of jointdist"))

    def fits(self, value: object) -> bool:
        return self.field.fits(value)

    def write(self, value: Any, at: Place[Writer]) -> Any:
        rule = (
            "a kernel of jointdist, as a file holds no code. Compose it of those in "
            "`jointdist.kernels`, or pickle the model"
        )
        at.require(self.fits(value), rule, Text(type(value).__name__))
        return self.field.write(value, at)

    def read(self, node: Any, at: Place[Reader]) -> Any:
        return self.field.read(node, at)


class Seeds(Field):
    """The seed of an estimator; generators become None, as no answer needs them."""

    def fits(self, value: object) -> bool:  # noqa: ARG002
        return True

    def write(self, value: Any, at: Place[Writer]) -> Any:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        return Whole(least=0).write(value, at) if whole else None

    def read(self, node: Any, at: Place[Reader]) -> Any:
        return None if node is None else Whole(least=0).read(node, at)


class SelectionParameter(Field):
    """How hyperparameters were selected.

    Parameters
    ----------
    strict : bool
        Whether a criterion that is a function is refused, and so are folds that are neither
        numbers nor named; else the selection becomes None.
    """

    def __init__(self, *, strict: bool) -> None:
        self.strict, self.field = strict, Value(Selection)

    def fits(self, value: object) -> bool:
        return value is None or self.field.fits(value)

    def write(self, value: Any, at: Place[Writer]) -> Any:
        named = value is None or isinstance(value.criterion, str)
        told = value is None or is_count(value.cv) or isinstance(value.cv, str)
        rule = (
            'one whose criterion has a name and whose `cv` is a number or "time", as a file '
            "holds no code. `set_params(selection=None)` before `save` leaves what was "
            "selected as it is"
        )
        got = Text("splits" if named else "a criterion that is a function")
        named = named and told
        at.require(named or not self.strict, rule, got)
        return None if value is None or not named else self.field.write(value, at)

    def read(self, node: Any, at: Place[Reader]) -> Any:
        return None if node is None else self.field.read(node, at)


class ClassWeights(Field):
    """The weights of classes: None, "balanced", or a dict of labels to numbers."""

    def __init__(self) -> None:
        pairs = Sequence(Tuple(Either(Str(), Flag(), Whole(), Number()), Number(least=0)))
        self.field = Either(Str("balanced"), pairs)

    def fits(self, value: object) -> bool:
        return value is None or isinstance(value, str | dict)

    def write(self, value: Any, at: Place[Writer]) -> Any:
        at.require(self.fits(value), 'None, "balanced" or a dict', Text(type(value)))
        pairs = tuple(value.items()) if isinstance(value, dict) else value
        return None if value is None else self.field.write(pairs, at)

    def read(self, node: Any, at: Place[Reader]) -> Any:
        found = None if node is None else self.field.read(node, at)
        return dict(found) if isinstance(found, tuple) else found


class SupportParameter(Field):
    """Bounds of outcomes: "auto", None, a pair, or a sequence of pairs, which become tuples."""

    def fits(self, value: object) -> bool:
        named = value is None or (isinstance(value, str) and value == "auto")
        return named or bounds_of(value) is not None

    def write(self, value: Any, at: Place[Writer]) -> Any:
        at.require(self.fits(value), '"auto", None or pairs of bounds', Text(type(value)))
        return _plain(value)

    def read(self, node: Any, at: Place[Reader]) -> Any:
        at.require(self.fits(node), '"auto", None or pairs of bounds', Text(type(node)))
        if not isinstance(node, list):
            return node
        return tuple(tuple(one) if isinstance(one, list) else one for one in node)


def _plain(value: Any) -> Any:
    """Return bounds as lists of numbers, and of None where there is none."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    endless = isinstance(value, float | np.floating) and not np.isfinite(value)
    whole = isinstance(value, int | np.integer)
    named = value is None or isinstance(value, str)
    return None if endless else value if named else int(value) if whole else float(value)
