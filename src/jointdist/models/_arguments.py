"""Arguments of estimators: their rules, and tables that become paired rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from jointdist._array import Index, to_numpy
from jointdist._rules import (
    Seed,
    Text,
    generator,
    is_number,
    is_whole,
    require,
    require_kind,
)
from jointdist.data.design import Design, Question
from jointdist.data.design_fit import Outcomes, learn_design
from jointdist.data.encoding import Encoding, learn_encoding
from jointdist.data.fold_arguments import is_count, read_folds
from jointdist.data.folds import Folds, Split
from jointdist.data.one_row import as_question
from jointdist.data.sample import Sample
from jointdist.data.table import Rows, as_weights

__all__ = [
    "PairedData",
    "TableOptions",
    "read_pair",
    "read_question",
    "read_x",
    "require_arguments",
    "require_columns",
    "require_exchangeable",
    "require_numbers_alone",
    "require_ridges",
    "table_options",
    "y_for_Y",
]

_Missing: TypeAlias = Literal["allow", "error"]
_Unknown: TypeAlias = Literal["prior", "error"]

P = ParamSpec("P")
T = TypeVar("T")


def y_for_Y(method: Callable[P, T]) -> Callable[P, T]:  # noqa: N802
    """Let a method with a parameter ``Y`` take the keyword ``y`` of scikit-learn too.

    Parameters
    ----------
    method : callable
        The method.
    """

    @wraps(method)
    def accepting(*args: Any, **kwargs: Any) -> T:
        if "y" in kwargs and "Y" not in kwargs:
            kwargs["Y"] = kwargs.pop("y")
        return method(*args, **kwargs)

    return cast("Callable[P, T]", accepting)


def require_arguments(where: str, **arguments: object) -> None:
    """Raise unless arguments of an estimator obey their rules.

    Parameters
    ----------
    where : str
        The estimator.
    **arguments
        Some of those that estimators have in common.
    """
    for name, value in arguments.items():
        rule, obeys = _RULES[name]
        require(obeys(value), where, name, rule, value)


def require_ridges(where: str, regularization: object) -> None:
    """Raise unless an argument is a ridge, or one for each function of Y, or says how.

    Parameters
    ----------
    where : str
        The estimator.
    regularization : float, array, "auto" or "loo"
        The argument.
    """
    if isinstance(regularization, np.ndarray):
        numbers = regularization.ndim == 1 and regularization.dtype.kind in "fiu"
        good = numbers and bool((regularization >= 0).all())
    else:
        loo = isinstance(regularization, str) and regularization == "loo"
        good = loo or _is_ridge(regularization)
    rule = 'a number of at least 0, an array of such, "auto" or "loo"'
    require(good, where, "regularization", rule, regularization)


def _is_ridge(value: object) -> bool:
    return (isinstance(value, str) and value == "auto") or is_number(value, least=0)


_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "regularization": ('a number of at least 0, or "auto"', _is_ridge),
    "tol": ("a number from 0 to below 1", lambda tol: is_number(tol, least=0, below=1)),
    "grid_rows": ("an integer of at least 1", lambda rows: is_whole(rows, least=1)),
    "support_size": ("an integer of at least 1", lambda rows: is_whole(rows, least=1)),
}


def require_numbers_alone(where: str, positivity: str, sides: tuple[Encoding, ...]) -> None:
    """Raise if distributions are to be isotonic and none is of one numeric column.

    Parameters
    ----------
    where : str
        The estimator.
    positivity : str
        The argument.
    sides : tuple of Encoding
        The columns of the sides whose distributions can be asked for.
    """
    alone = any(side.width == 1 and side.numeric for side in sides)
    got = Text('"isotonic", and there is none; use "projected"')
    rule = "for distributions of one numeric column"
    require(positivity != "isotonic" or alone, where, "positivity", rule, got)


class TableOptions(NamedTuple):
    """What may become of the columns of X.

    Attributes
    ----------
    missing : {"allow", "error"}, default="allow"
        Whether entries may be missing.
    numbers_alone : bool, default=False
        Whether all categorical columns are embedded.
    as_is : bool, default=False
        Whether each column becomes one number, as for a kernel that users give.
    """

    missing: str = "allow"
    numbers_alone: bool = False
    as_is: bool = False


def table_options(model: Any, *, numbers_alone: bool = False) -> TableOptions:
    """Return what may become of the columns of X, by the parameters of an estimator.

    Parameters
    ----------
    model : estimator
        The estimator.
    numbers_alone : bool, default=False
        Whether its features need numbers.
    """
    where = type(model).__name__
    require_kind(where, "missing", model.missing, _Missing)
    require_kind(where, "unknown", model.unknown, _Unknown)
    given = not isinstance(getattr(model, "kernel_x", "auto"), str)
    return TableOptions(model.missing, numbers_alone, given)


@dataclass(frozen=True, slots=True, eq=False)
class PairedData:
    """The tables of a fit, read.

    Attributes
    ----------
    sample : Sample
        The rows of X and Y as numbers, with their weights.
    encodings : tuple of Encoding
        The columns of X and Y: their names and categories.
    columns : dict
        ``n_features_in_``, and ``feature_names_in_`` if the columns of X have names.
    rng : Generator
        Random numbers from the estimator's ``random_state``.
    seed : int
        A seed drawn from it.
    made : Design, optional
        What became of the columns of X, if it is not plain.
    """

    sample: Sample
    encodings: tuple[Encoding, Encoding]
    columns: dict[str, Any]
    rng: np.random.Generator
    seed: int
    made: Design | None = None

    @staticmethod
    def again(
        sample: Sample,
        encodings: tuple[Encoding, Encoding],
        columns: dict[str, Any],
        seed: int,
    ) -> "PairedData":
        """Return the rows that a model kept as those of a fit."""
        return PairedData(sample, encodings, columns, np.random.default_rng(seed), seed)

    @property
    def design(self) -> Design:
        """What became of the columns of X."""
        return Design.plain(self.encodings[0]) if self.made is None else self.made

    @property
    def splits(self) -> list[Split] | None:
        """The splits of the rows; None if rows are held out at random, one by one."""
        return None if self.sample.folds is None else self.sample.folds.rows

    @property
    def groups(self) -> Index | None:
        """The number of the group of each row, if users give groups."""
        return None if self.sample.folds is None else self.sample.folds.groups


def read_pair(
    where: str,
    X: object,
    Y: object,
    sample_weight: object,
    random_state: Seed,
    *,
    cv: Any = 5,
    groups: object = None,
    folds: Folds | None = None,
    how: TableOptions | None = None,
) -> PairedData:
    """Return the tables of a fit as paired rows, with all checks made.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    X, Y : array, DataFrame or sequence
        The tables.
    sample_weight : array of shape (n,), optional
        The weights of the rows.
    random_state : int, Generator, RandomState, optional
        The seed of the estimator.
    cv : int, float, "time", splitter or iterable of splits, default=5
        How rows are held out.
    groups : array, Series or sequence of shape (n,), optional
        The group of each row; rows of a group are held out together.
    folds : Folds, optional
        How rows are held out, if an estimator that calls says so.
    how : TableOptions, optional
        What may become of the columns of X.
    """
    how = TableOptions() if how is None else how
    got = Text("None: fit requires y to be passed, but the target y is None")
    require(Y is not None, where, "Y", "given", got)
    y = learn_encoding(Y, where=where, name="Y", vector=True)
    rng = generator(where, random_state)
    seed = int(rng.integers(2**32))
    weights = as_weights(sample_weight, y.rows)
    if folds is None and (groups is not None or not is_count(cv)):
        outcomes = to_numpy(y.rows.read(0, y.rows.n))
        tables = X, outcomes[:, 0] if outcomes.shape[1] == 1 else outcomes
        n = y.rows.n
        folds = read_folds(
            where, cv, groups, n=n, weights=weights, seed=seed, tables=tables
        )
    shown = Outcomes(y.rows, y.encoding, weights, seed=seed)
    if folds is not None and folds.groups is not None and is_count(cv):
        shown = replace(shown, groups=folds.groups)
    elif folds is not None:
        shown = replace(shown, splits=folds.rows)
    design, x = learn_design(X, shown, where=where, **how._asdict())
    categorical = design.shown.all_categorical
    sample = Sample.paired(x, y.rows, sample_weight, categorical=categorical)
    sample = sample if folds is None else replace(sample, folds=folds)
    reader = BaseEstimator()  # so that a fit that fails leaves no trace
    validate_data(reader, X, reset=True, skip_check_array=True)
    encodings = design.encoding, y.encoding
    made = None if design.is_plain else design
    return PairedData(sample, encodings, vars(reader), rng, seed, made)


def require_exchangeable(where: str, data: PairedData, regularization: object) -> None:
    """Raise if ridges are to be chosen by leaving out rows that depend on each other.

    Parameters
    ----------
    where : str
        The estimator.
    data : PairedData
        The rows of the fit.
    regularization : object
        The argument.
    """
    loo = isinstance(regularization, str) and regularization == "loo"
    rule = (
        'a number, an array or "auto" where rows are held out by groups, in time or by '
        "splits, as rows that are left out one by one depend on the others"
    )
    alone = data.sample.folds is None
    require(alone or not loo, where, "regularization", rule, regularization)


def require_columns(model: BaseEstimator, X: Any) -> None:
    """Raise unless a table has the columns that a model was fitted to.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, DataFrame or sequence
        The table. What is no table is left to its reader.
    """
    flat = np.isscalar(X) or (isinstance(X, list | tuple) and X and np.isscalar(X[0]))
    if not flat and not isinstance(X, Mapping) and getattr(X, "ndim", 2) == 2:
        validate_data(model, X, reset=False, skip_check_array=True)


def read_question(
    model: Any, design: Design, X: object, *, where: str, name: str = "X"
) -> Question:
    """Return rows of X at which a fitted model is asked, checked and encoded.

    Parameters
    ----------
    model : estimator
        The fitted model.
    design : Design
        What became of the columns of X.
    X : array, DataFrame, dict or sequence of shape (q, d)
        The rows. As the argument ``x`` of ``given``, a vector if X has one column.
    where : str
        The method, for messages.
    name : str, default="X"
        The argument, for messages.
    """
    X = as_question(X, design.shown, where=where, name=name)
    require_columns(model, X)
    vector = name == "x" and model.n_features_in_ == 1
    options = {key: getattr(model, key) for key in ("missing", "unknown")}
    return design.ask(X, where=where, name=name, vector=vector, **options)


def read_x(model: Any, design: Design, X: object, *, where: str, name: str = "X") -> Rows:
    """Return complete rows of X at which a fitted model is evaluated, checked and encoded.

    Parameters
    ----------
    model, design, X, where, name
        As in :func:`read_question`.
    """
    X = as_question(X, design.shown, where=where, name=name)
    require_columns(model, X)
    vector = name == "x" and model.n_features_in_ == 1
    found = design.ask(X, where=where, name=name, vector=vector, unknown="error")
    if found.absent is not None:
        codes = np.where(found.absent, np.nan, 0.0)
        design.shown.require_complete(codes, where, name)
    return found.rows
