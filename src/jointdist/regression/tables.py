"""Tables as regressors with the interface of scikit-learn read them."""

from typing import Any

import narwhals.stable.v2 as nw

from jointdist._array import Index, to_numpy
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.frames import to_frame
from jointdist.data.table import Rows

__all__ = ["as_table", "decoded_table", "take_rows"]


def take_rows(X: Any, rows: Index) -> Any:
    """Return rows of a table, in the type of the table.

    Parameters
    ----------
    X : array, DataFrame or sequence
        The table.
    rows : array of int
        The indices of the rows.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def as_table(X: Any, encoding: Encoding, x: Rows) -> Any:
    """Return rows of X as regressors read them: numbers, or the table that users give.

    Parameters
    ----------
    X : array, DataFrame or sequence
        The rows, as users give them.
    encoding : Encoding
        How their columns became numbers.
    x : Rows
        The rows, encoded.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    as_given = isinstance(frame, nw.DataFrame) or not encoding.numeric or encoding.neutral
    return X if as_given else to_numpy(x.read(0, x.n))


def decoded_table(design: Design, x: Rows) -> Any:
    """Return encoded rows as a table like the one that users give.

    Parameters
    ----------
    design : Design
        What became of the columns.
    x : Rows
        The rows, encoded.
    """
    shown, z = design.shown, x.table()[:, : design.shown.width]
    if shown.names is None:
        return shown.decode(z)
    columns = enumerate(shown.names)
    return to_frame({name: shown.decode_column(i, z[:, i]) for i, name in columns})
