"""Rows with labels, as classifiers read them: encoded, with the weights of their classes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from jointdist._array import Index, Vector, is_array, like, to_numpy
from jointdist._rules import Seed, Text, is_number, require
from jointdist.data.class_weights import class_weights
from jointdist.data.encoding import Coded, Encoding
from jointdist.data.labels import Labels, learn_labels, read_classes
from jointdist.data.sample import Sample
from jointdist.data.table import Rows, as_rows, as_weights, require_table
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.support import Support
from jointdist.models._arguments import PairedData, TableOptions, read_pair

__all__ = [
    "LabelledData",
    "count_rows",
    "encode_conditions",
    "encode_labels",
    "labels_with_rows",
    "read_labelled",
    "require_classes",
    "require_ridge",
    "signed_probabilities",
]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledData:
    """The rows and labels of a fit, read.

    Attributes
    ----------
    pair : PairedData
        The tables, encoded.
    sample : Sample
        The rows of X, with the codes of their classes as Y.
    classes : array of shape (K,)
        The labels, sorted, without those whose rows have no weight.
    codes : array of shape (n,)
        The position of each row's label among the classes; any, for rows of no weight.
    """

    pair: PairedData
    sample: Sample
    classes: NDArray[Any]
    codes: Index


def read_labelled(
    where: str,
    X: object,
    y: object,
    sample_weight: object,
    *,
    class_weight: object,
    seed: Seed,
    how: TableOptions,
    cv: Any = 5,
    groups: object = None,
) -> LabelledData:
    """Return the rows and labels that users pass to ``fit``, checked and encoded.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    X : array, DataFrame or sequence of shape (n, d)
        The rows.
    y : array, Series or sequence of shape (n,)
        Their labels, of at least two classes.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    class_weight : "balanced" or dict, optional
        Weights of the classes.
    seed : int, Generator, RandomState, optional
        The seed of the estimator.
    how : TableOptions
        What may become of the columns of X.
    cv : int, float, "time", splitter or iterable of splits, default=5
        How rows are held out.
    groups : array, Series or sequence of shape (n,), optional
        The group of each row.
    """
    labels = learn_labels(y, n=count_rows(where, X), where=where)
    coded, weights = encode_labels(where, X, labels, sample_weight, class_weight)
    pair = read_pair(where, X, coded, weights, seed, cv=cv, groups=groups, how=how)
    present = np.bincount(labels.codes, pair.sample.weights) > 0
    classes = labels.classes[present]
    got = Text(f"one class only: {classes.tolist()[0]!r}")
    require(len(classes) > 1, where, "y", "of at least two classes", got)
    codes = np.maximum(np.cumsum(present) - 1, 0)[labels.codes]
    column = Rows(codes[:, None].astype(np.float64), where, "y")
    return LabelledData(pair, replace(pair.sample, y=column), classes, codes)


def count_rows(where: str, X: object) -> int:
    """Return the number of rows of a table that is not read yet."""
    require_table(X, where, "X")
    return int(_num_samples(X))


def encode_labels(
    where: str, X: object, labels: Labels, sample_weight: object, class_weight: object
) -> tuple[Coded, Vector | None]:
    """Return labels as an encoded table on the device of X, and the weights of the rows.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    X : array, DataFrame or sequence of shape (n, d)
        The rows.
    labels : Labels
        Their labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    class_weight : "balanced" or dict, optional
        Weights of the classes, by which those of their rows are multiplied.
    """
    column = labels.codes[:, None].astype(np.float64)
    rows = as_rows(like(column, X) if is_array(X) else column, where=where, name="y")
    weights = class_weights(labels, class_weight, as_weights(sample_weight, rows), where)
    return Coded(Encoding((tuple(labels.classes.tolist()),)), rows), weights


def encode_conditions(where: str, y: object, encoding: Encoding, support: Support) -> Coded:
    """Return labels as conditions, none of which has probability zero.

    Parameters
    ----------
    where : str
        The method, for messages.
    y : array or sequence of shape (q,)
        The labels.
    encoding : Encoding
        The labels that are known.
    support : Support
        The support of their distributions.
    """
    rows = encoding.encode(y, where=where, name="y", vector=True)
    (known,), present = encoding.categories, labels_with_rows(support)[0].tolist()
    rule = "of labels with rows, as X given a label of probability zero is not defined"
    for code in np.unique(to_numpy(rows.table())).astype(np.intp).tolist():
        require(code in present, where, "y", rule, (known or ())[code])
    return Coded(encoding, rows)


def require_ridge(where: str, value: object) -> None:
    """Raise unless a ridge of all labels together is a number, or to be selected.

    Parameters
    ----------
    where : str
        The caller, for messages.
    value : float or "auto"
        The ridge.
    """
    good = is_number(value, least=0.0) or (isinstance(value, str) and value == "auto")
    require(good, where, "regularization", 'a number of at least 0, or "auto"', value)


def labels_with_rows(support: Support) -> tuple[Index, Vector]:
    """Return the codes of the labels that have rows, with the sums over their rows.

    Parameters
    ----------
    support : Support
        The support of distributions of labels.
    """
    labels, sums = support.distinct
    some = sums[:, 0] > 0
    return labels[some, 0].astype(np.intp), sums[some]


def signed_probabilities(dists: Distributions) -> tuple[Index, Vector]:
    """Return the labels that have rows, and their signed probabilities.

    Those of the sample take their place if the mass is not positive.

    Parameters
    ----------
    dists : Distributions
        The distributions of the labels, on support points.
    """
    assert isinstance(dists, LinearDistributions)  # noqa: S101  # for type checkers
    present, sums = labels_with_rows(dists.support)
    found = dists.expected(sums.T)
    return present, np.where(np.isnan(found), sums[:, 0], found)


def require_classes(where: str, classes: object, known: NDArray[Any]) -> None:
    """Raise if the labels that users name are not those of the model.

    Parameters
    ----------
    where : str
        The method.
    classes : array of shape (k,), optional
        The labels that users name.
    known : array of shape (k,)
        Those of the model.
    """
    if classes is not None:
        given = read_classes(classes, where=where).tolist()
        rule = f"the labels of the first fit, {known.tolist()}; the first call of "
        rule += "`partial_fit` names all"
        require(given == known.tolist(), where, "classes", rule, given)
