"""What all tables of estimators in files share: parameters, attributes, registration."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias, get_args

from jointdist._rules import Text, require
from jointdist.data.codec import (
    Booleans,
    Either,
    Field,
    Flag,
    Floats,
    Indices,
    Integers,
    Narrow,
    Number,
    Optional,
    Record,
    Schema,
    Strings,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.data.design import Design
from jointdist.data.executor import Executor
from jointdist.kernels.files import kernel_field
from jointdist.lowrank.factor import Pivoting
from jointdist.models._fitted_state import FittedState
from jointdist.models._parameter_files import Seeds, SelectionParameter
from jointdist.selection.specification import Selected

__all__ = [
    "COLUMNS",
    "FACTORED",
    "KERNELS",
    "LABELS",
    "NAMES",
    "RIDGE",
    "RUN",
    "SELECTED",
    "SOLVED",
    "SUPPORT",
    "Fields",
    "register_estimator",
]

Fields: TypeAlias = Mapping[str, Field]

RIDGE = Either(Str("auto"), Number(least=0))
RUN: Fields = {
    "random_state": Seeds(),
    "executor": Optional(Value(Executor)),
    "verbose": Either(Flag(), Whole(least=0)),
}
FACTORED: Fields = {
    "tol": Number(least=0, most=1),
    "max_rank": Optional(Whole(least=1)),
    "pivoting": Str(*get_args(Pivoting)),
}
TABLES: Fields = {"missing": Str("allow", "error"), "unknown": Str("prior", "error")}
SUPPORT: Fields = {"grid_rows": Whole(least=1), "support_size": Whole(least=1)}
COLUMNS: Fields = {"n_features_in_": Whole(least=1, size="d")}
NAMES: Fields = {"feature_names_in_": Strings("d")}
MADE: Fields = {"_made": Optional(Value(Design))}
KERNELS: Fields = {"kernel_x_": kernel_field(), "kernel_y_": kernel_field()}
SELECTED: Fields = {"selection_": Optional(Value(Selected))}
SOLVED: Fields = {
    "coefficients_": Floats("y", "x"),
    "regularization_": Either(Number(least=0), Floats("y", least=0, finite=False)),
    "grid_rows_": Indices("_"),
    "_seed": Whole(least=0),
    "_columns": Record(COLUMNS, NAMES),
    **SELECTED,
}
LABELS = Either(
    Strings("k"),
    Booleans("k"),
    Integers("k", dtypes=("int64", "int32", "uint64", "uint8")),
    *(Narrow(name, "k") for name in ("int8", "int16", "uint16", "uint32")),
    Floats("k", dtypes=("float64", "float32")),
)
# Marks of an estimator that is a part of another.
_MARKS: Fields = {"_caller": Str(), "_repeated": Flag(), "_both": Flag()}


def register_estimator(
    schema: Schema,
    cls: type[FittedState],
    parameters: Fields,
    learned: Fields,
    *,
    optional: Fields = NAMES,
    added: Fields = MappingProxyType({}),
    check: Callable[[Any], object],
) -> None:
    """Register an estimator: its parameters, now and of the fit, and what was learned.

    Parameters
    ----------
    schema : Schema
        The schema that it is added to.
    cls : type
        Its class.
    parameters : mapping of str to Field
        What its parameters hold.
    learned : mapping of str to Field
        What the attributes of a fit hold.
    optional : mapping of str to Field
        Those that may be missing; by default the names of columns.
    added : mapping of str to Field
        Parameters that older files do not have, beside those that all estimators have.
    check : callable
        Raises unless the parts of a fitted estimator fit each other.
    """
    settings = {name: _lenient(field) for name, field in parameters.items()}
    added = {**TABLES, **added}
    saved = Record(
        {
            "parameters": Record(parameters, added),
            "settings": Optional(Record(settings, added)),
            "learned": Optional(Record(learned, optional)),
            "marks": Record({}, _MARKS),
        }
    )
    schema.register(
        cls,
        cls.__name__,
        build=partial(_built, cls),
        check=lambda model: _check(model, check),
        _saved=saved,
    )


def _built(cls: type[FittedState], _saved: dict[str, Any]) -> FittedState:
    return cls._of_saved(_saved)


def _lenient(field: Field) -> Field:
    strict = isinstance(field, SelectionParameter)
    return SelectionParameter(strict=False) if strict else field


def _check(model: FittedState, check: Callable[[Any], object]) -> None:
    """Raise unless the parts of an estimator fit each other."""
    if (vars(model).get("_settings") is None) != ("_learned_names" not in vars(model)):
        require(False, type(model).__name__, "settings", "those of a fit", Text("others"))
    if "_learned_names" in vars(model):
        check(model)
