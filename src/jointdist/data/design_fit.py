"""The choice of a design: what becomes of each column of a table of X."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Index, Vector
from jointdist._rules import Text, require
from jointdist.data.derived_columns import (
    CalendarCycle,
    MissingIndicator,
    calendar_cycles,
)
from jointdist.data.design import Design, fold_of
from jointdist.data.encoding import Coded, Encoding, learn_types
from jointdist.data.table import Rows
from jointdist.data.target_embedding import (
    Embedding,
    OutOfFold,
    learn_embedding,
    outcome_features,
)

__all__ = ["Outcomes", "learn_design"]

# Categories of a column beside others up to which each has a similarity of its own. More make
# kernel matrices of high rank, and are embedded.
MOST_BESIDE = 32
# The same for a column that is alone: trees can tell so many apart.
MOST_ALONE = 250
# The weight of the rows whose entry of a column is missing from which on these are a group of
# their own, and its share of all: of fewer, the model learns too little about them.
_LEAST_LOST, _LEAST_SHARE = 50.0, 0.02
# Steps in which a value for missing entries is looked for, in standard deviations.
_STEP = 0.125
_OFTEN = 0.01  # the share of rows from which on a value is taken often; a round number


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What categories are embedded by: the outcomes of rows, and their folds.

    Attributes
    ----------
    y : Rows
        The outcomes, encoded.
    encoding : Encoding
        Their columns.
    weights : array of shape (n,), optional
        The weights of the rows.
    groups : array of int of shape (n,), optional
        The groups of the rows.
    splits : sequence of pairs of arrays of int, optional
        Rows to fit to and rows held out, if users give them.
    seed : int, default=0
        The seed of the folds.
    """

    y: Rows
    encoding: Encoding
    weights: Vector | None = None
    groups: Index | None = None
    splits: Sequence[tuple[Index, Index]] | None = None
    seed: int = 0


def learn_design(
    data: object,
    outcomes: Outcomes,
    *,
    where: str,
    name: str = "X",
    missing: str = "allow",
    numbers_alone: bool = False,
    as_is: bool = False,
) -> tuple[Design, Rows]:
    """Return what becomes of the columns of a table of X, and its rows as numbers.

    Parameters
    ----------
    data : array, DataFrame, sequence or Coded
        The table.
    outcomes : Outcomes
        What categories are embedded by.
    where, name : str
        The caller and its argument, for messages.
    missing : {"allow", "error"}, default="allow"
        Whether entries may be missing.
    numbers_alone : bool, default=False
        Whether all categorical columns are embedded, as polynomials need numbers.
    as_is : bool, default=False
        Whether each column becomes one number, as for a kernel that users give: missing
        numbers are then neutral values, without an indicator.
    """
    if isinstance(data, Coded):
        return Design.plain(data.encoding), data.rows
    shown, found = learn_types(data, where=where, name=name)
    if isinstance(found, Rows):
        return Design.plain(shown), found
    n = outcomes.y.n
    rule = f"as long as `X` ({len(found)} rows)"
    require(len(found) == n, where, "Y", rule, Text(f"{n} rows"))
    if missing == "error":
        shown.require_complete(found, where, name)
    w = np.ones(n) if outcomes.weights is None else outcomes.weights
    shown, codes = _counted(shown, found, w)
    lost = [float(w @ np.isnan(column)) for column in codes.T]
    shown = _with_neutral(shown, codes, w)
    told = [some >= max(_LEAST_LOST, _LEAST_SHARE * float(w.sum())) for some in lost]
    parts: list[MissingIndicator | CalendarCycle | Embedding] = []
    embedded = [] if as_is else _many(shown, numbers_alone=numbers_alone)
    for i in range(shown.width):
        if shown.kind(i) == "time" and not as_is:
            parts += calendar_cycles(i, codes[w > 0, i], shown.zone(i))
        if told[i] and shown.kind(i) != "category" and not as_is:
            parts.append(MissingIndicator(i))
    grouped, tables = "rows", None
    if embedded:
        grouped, folds = _folds(codes, outcomes)
        tables = folds.table
        parts += _embeddings(shown, codes, embedded, outcomes, folds)
    design = Design(
        shown,
        _numbers(shown, parts, embedded),
        tuple(parts),
        tuple(not some for some in lost) if any(lost) else (),
        tuple(not some for some in told) if any(told) else (),
        outcomes.seed,
        grouped,
    )
    return design, design.rows(codes, tables, where, name)


def _many(shown: Encoding, *, numbers_alone: bool) -> list[int]:
    """Return the columns of so many categories that these are embedded."""
    most = MOST_ALONE if shown.width == 1 else MOST_BESIDE
    most = 0 if numbers_alone else most
    return [
        i
        for i, known in enumerate(shown.categories)
        if known is not None and shown.kind(i) == "category" and len(known) > most
    ]


def _counted(shown: Encoding, codes: Vector, w: Vector) -> tuple[Encoding, Vector]:
    """Return the columns and codes without categories that only rows of no weight have."""
    if w.all():
        return shown, codes
    known, codes = list(shown.categories), codes.copy()
    for i, categories in enumerate(known):
        if categories is None:
            continue
        used = np.unique(codes[(w > 0) & ~np.isnan(codes[:, i]), i]).astype(np.intp)
        place = np.full(len(categories), len(used) + 1.0)
        place[used] = np.arange(len(used))
        here = ~np.isnan(codes[:, i])
        codes[here, i] = place[codes[here, i].astype(np.intp)]
        known[i] = tuple(categories[k] for k in used) or ("",)
    return replace(shown, categories=tuple(known)), codes


def _with_neutral(shown: Encoding, codes: Vector, w: Vector) -> Encoding:
    """Return the columns with a code for missing entries, where there are some.

    Of numbers it is amid the others, and such that no entry has it. Of categories it is
    the code after all others.
    """
    gone = np.isnan(codes).any(axis=0)
    if not gone.any():
        return shown
    found: list[float | None] = [None] * shown.width
    for i in np.flatnonzero(gone).tolist():
        known, some = shown.categories[i], ~np.isnan(codes[:, i]) & (w > 0)
        if known is not None and shown.kind(i) == "category":
            found[i] = float(len(known))
        else:
            middle = _beside(codes[some, i])
            found[i] = middle if known is None else float(np.floor(middle)) + 0.5
    return replace(shown, neutral=tuple(found))


def _beside(seen: Vector) -> float:
    """Return a number amid those seen that is none of them, nor next to one of many.

    The mean, between the quartiles. Were it next to a value that is taken often, the median
    heuristic would take their distance for the unit of the column.
    """
    if not len(seen):
        return 0.0
    low, high = np.quantile(seen, (0.25, 0.75))
    value, spread = float(np.clip(seen.mean(), low, high)), float(seen.std())
    step = _STEP * (spread if spread > 0 else max(abs(value), 1.0))
    values, counts = np.unique(seen, return_counts=True)
    often = values[counts > _OFTEN * len(seen)]
    while (np.abs(often - value) < step / 2).any():
        value += step
    taken = set(values.tolist())
    while value in taken:
        value += step * _STEP**7
    return value


def _folds(codes: Vector, outcomes: Outcomes) -> tuple[str, OutOfFold]:
    """Return what decides the folds of rows, and which rows the tables of each are of."""
    if outcomes.splits is not None:
        return "splits", OutOfFold.of_splits(outcomes.splits, len(codes))
    if outcomes.groups is not None:
        groups = outcomes.groups[:, None].astype(np.float64)
        return "groups", OutOfFold.of(fold_of(groups, outcomes.seed))
    z = np.hstack([np.nan_to_num(codes, nan=-1.0), outcomes.y.table()])
    return "rows", OutOfFold.of(fold_of(z, outcomes.seed))


def _embeddings(
    shown: Encoding,
    codes: Vector,
    columns: list[int],
    outcomes: Outcomes,
    folds: OutOfFold,
) -> list[Embedding]:
    """Return the embeddings of columns that say something about Y."""
    w = outcomes.weights
    U = outcome_features(outcomes.y.table(), outcomes.encoding, w)
    found = [
        learn_embedding(i, codes[:, i], len(shown.categories[i] or ()), U, w, folds=folds)
        for i in columns
    ]
    return [one for one in found if one is not None]


def _numbers(
    shown: Encoding,
    parts: Sequence[MissingIndicator | CalendarCycle | Embedding],
    embedded: list[int],
) -> Encoding:
    """Return the encoding of the columns of numbers."""
    ordered = {i for i in range(shown.width) if shown.kind(i) == "ordered"}
    if not parts and not embedded and not ordered:
        return shown
    titles = list(shown.titles("x"))
    for part in parts:
        if isinstance(part, CalendarCycle):
            made = [f"{titles[part.column]} ({part.cycle}, {f})" for f in ("cos", "sin")]
        elif isinstance(part, Embedding):
            made = [f"{titles[part.column]} (mean {k + 1} of Y)" for k in range(part.width)]
        else:
            made = [f"{titles[part.column]} (missing)"]
        titles += made
    known = [None if i in ordered else one for i, one in enumerate(shown.categories)]
    extra = (None,) * sum(part.width for part in parts)
    neutral = (*shown.neutral, *extra) if shown.neutral else ()
    found = tuple(part.column for part in parts if isinstance(part, Embedding))
    return Encoding(
        (*known, *extra),
        tuple(titles),
        neutral=neutral,
        unused=tuple(embedded),
        embedded=found,
    )
