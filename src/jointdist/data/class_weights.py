"""Class weights: the weight of each row times that of its class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import is_number, require
from jointdist.data.labels import Labels

__all__ = ["class_weights"]


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
    >>> from jointdist.data.labels import learn_labels
    >>> from jointdist.data.class_weights import class_weights
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
