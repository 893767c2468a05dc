"""Class labels as codes, and class weights."""

import math
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from jointdist._array import is_array, to_numpy
from jointdist.errors import Text, is_number, require

__all__ = ["Labels", "class_weights", "learn_labels"]


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
    values = column_or_1d(_array(y, where), warn=True)
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


def class_weights(
    labels: Labels,
    class_weight: object,
    sample_weight: NDArray[np.float64] | None,
    where: str,
) -> NDArray[np.float64] | None:
    """Return the weight of each row times that of its class; None if all are one.

    Parameters
    ----------
    labels : Labels
        The labels of the rows.
    class_weight : "balanced" or dict of labels to numbers, optional
        With ``"balanced"``, all classes have the same total weight, and the sum of all
        weights does not change. Labels that a dict does not name have weight one.
    sample_weight : array of shape (n,), optional
        The weights of the rows, checked already.
    where : str
        The caller, for messages.

    Examples
    --------
    >>> from jointdist.data.labels import class_weights, learn_labels
    >>> labels = learn_labels(["no", "yes", "no", "no"], n=4, where="fit")
    >>> class_weights(labels, {"yes": 3.0}, None, "fit")
    array([1., 3., 1., 1.])
    """
    if class_weight is None:
        return sample_weight
    rows = np.ones(len(labels.codes)) if sample_weight is None else sample_weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        sums = np.bincount(labels.codes, rows, len(labels.classes))
        weights = sums.sum() / np.count_nonzero(sums) / np.where(sums > 0, sums, 1.0)
    else:
        weights = _named_weights(labels.classes, class_weight, where)
    weighted: NDArray[np.float64] = weights[labels.codes] * rows
    rule = "positive for a label of the sample"
    require(weighted.any(), where, "class_weight", rule, class_weight)
    least = float(weighted[weighted > 0].min())
    rule = "such that no row weighs 10**100 times as much as another"
    require(weighted.max() < 1e100 * least, where, "class_weight", rule, class_weight)
    return weighted


def _named_weights(
    classes: NDArray[Any], class_weight: object, where: str
) -> NDArray[np.float64]:
    """Return the weight of each class by a dict."""
    name, known = "class_weight", classes.tolist()
    rule = 'None, "balanced" or a dict of labels to weights'
    require(isinstance(class_weight, dict), where, name, rule, class_weight)
    assert isinstance(class_weight, dict)  # noqa: S101  # for type checkers
    for label, weight in class_weight.items():
        require(label in known, where, name, f"of the labels {known}", label)
        rule = f"a finite number of at least 0 for each label, also {label!r}"
        require(is_number(weight, least=0), where, name, rule, weight)
    return np.array([float(class_weight.get(label, 1.0)) for label in known])


def _array(y: Any, where: str) -> Any:
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
        require(good, where, "y", rule, got)
    return values if isinstance(y, np.ndarray) else y
