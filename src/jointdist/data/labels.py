"""Class labels as codes."""

import math
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from jointdist._array import is_array, to_numpy
from jointdist._rules import Text, require
from jointdist.errors import warn_user

__all__ = ["Labels", "learn_labels", "read_classes"]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The labels of rows, as codes.

    Attributes
    ----------
    classes : array of shape (k,)
        The distinct labels, sorted, in the type they were given in.
    codes : array of int of shape (n,)
        The index of the label of each row among the classes.
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]


def learn_labels(
    y: object, *, n: int, where: str, classes: NDArray[Any] | None = None
) -> Labels:
    """Return the labels of ``n`` rows as codes: strings, integers or booleans.

    Parameters
    ----------
    y : array, Series or sequence of shape (n,)
        The labels.
    n : int
        The number of rows.
    where : str
        The caller, for messages.
    classes : array of shape (k,), optional
        The sorted labels; others raise an error. By default those of ``y``.

    Examples
    --------
    >>> from jointdist.data.labels import learn_labels
    >>> labels = learn_labels(["no", "yes", "no"], n=3, where="fit")
    >>> labels.classes, labels.codes
    (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0]))
    """
    got = Text("None: fit requires y to be passed, but the target y is None")
    require(y is not None, where, "y", "given", got)
    array = _array(y, where, "y")
    if np.asarray(array).shape[1:] == (1,):
        msg = "A column-vector y was passed when a 1d array was expected."
        warn_user(f"{msg} {where} takes its column.", DataConversionWarning)
    values = column_or_1d(array)
    rule = f"as long as `X` ({n} rows)"
    require(len(values) == n, where, "y", rule, Text(f"{len(values)} rows"))
    assert_all_finite(values, input_name="y", estimator_name=where)
    check_classification_targets(values)
    found, codes = np.unique(values, return_inverse=True)
    if classes is None:
        return Labels(found, codes)
    place = {label: code for code, label in enumerate(classes.tolist())}
    for label in found.tolist():
        require(label in place, where, "y", f"of the labels {list(place)}", label)
    return Labels(classes, np.array([place[label] for label in found.tolist()])[codes])


def read_classes(classes: object, *, where: str) -> NDArray[Any]:
    """Return the labels that users name, sorted, each once.

    Parameters
    ----------
    classes : array, Series or sequence of shape (k,)
        The labels, in any order.
    where : str
        The caller, for messages.

    Examples
    --------
    >>> from jointdist.data.labels import read_classes
    >>> read_classes(["yes", "no"], where="partial_fit")
    array(['no', 'yes'], dtype='<U3')
    """
    values = np.asarray(_array(classes, where, "classes"))
    require(values.ndim == 1, where, "classes", "a vector of labels", classes)
    require(len(values), where, "classes", "some labels", Text("none"))
    missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
    require(not missing, where, "classes", "without missing values", classes)
    found: NDArray[Any] = np.unique(values)
    return found


def _array(y: Any, where: str, name: str) -> Any:
    """Return labels as an array or a list of one type, without missing values."""
    if is_array(y):
        y = to_numpy(y)
    elif isinstance(
        series := nw.from_native(y, pass_through=True, allow_series=True), nw.Series
    ):
        y = series.to_numpy()  # integers of pandas that could be missing stay integers
    if isinstance(y, np.ndarray) and y.dtype.kind not in "OT":
        return y
    values = np.array(y, dtype=object)
    strings = any(isinstance(value, str) for value in values.flat)
    for row, value in enumerate(values.flat):
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        rule = "without missing values" if missing else "strings or numbers, not both"
        got = Text(f"{value!r} at row {row}")
        good = isinstance(value, str) if strings else not missing
        require(good, where, name, rule, got)
    return values if isinstance(y, np.ndarray) else y
