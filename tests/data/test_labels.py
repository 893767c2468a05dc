"""Labels as codes, whatever they are given as, and the weights of classes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_sample_weight

from jointdist.data.class_weights import class_weights
from jointdist.data.labels import learn_labels

STRINGS = ["pear", "fig", "pear", "apple"]
NUMBERS = [3, -1, 3, 2]
FLAGS = [True, False, True, True]

LABELS = {
    "strings": (STRINGS, np.array(["apple", "fig", "pear"])),
    "array of strings": (np.array(STRINGS), np.array(["apple", "fig", "pear"])),
    "objects": (np.array(STRINGS, object), np.array(["apple", "fig", "pear"], object)),
    "strings of NumPy 2": (
        np.array(STRINGS, dtype=np.dtypes.StringDType()),
        np.array(["apple", "fig", "pear"], object),
    ),
    "strings of pandas": (pd.Series(STRINGS), np.array(["apple", "fig", "pear"], object)),
    "categories of pandas": (
        pd.Series(STRINGS, dtype="category"),
        np.array(["apple", "fig", "pear"], object),
    ),
    "strings of polars": (pl.Series(STRINGS), np.array(["apple", "fig", "pear"])),
    "categories of polars": (
        pl.Series(STRINGS, dtype=pl.Categorical),
        np.array(["apple", "fig", "pear"], object),
    ),
    "integers": (NUMBERS, np.array([-1, 2, 3])),
    "small integers": (np.array(NUMBERS, np.int8), np.array([-1, 2, 3], np.int8)),
    "integers of pandas": (pd.Series(NUMBERS), np.array([-1, 2, 3])),
    "integers that may be missing": (
        pd.Series(NUMBERS, dtype="Int64"),
        np.array([-1, 2, 3]),
    ),
    "integers as categories": (
        pd.Series(NUMBERS, dtype="category"),
        np.array([-1, 2, 3]),
    ),
    "integers of polars": (pl.Series(NUMBERS), np.array([-1, 2, 3])),
    "whole floats": (np.array(NUMBERS, float), np.array([-1.0, 2.0, 3.0])),
    "flags": (FLAGS, np.array([False, True])),
    "flags of pandas": (pd.Series(FLAGS, dtype="boolean"), np.array([False, True])),
    "flags of polars": (pl.Series(FLAGS), np.array([False, True])),
    "one": (["a"] * 4, np.array(["a"])),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_type(kind):
    y, classes = LABELS[kind]
    found = learn_labels(y, n=4, where="fit")
    assert_array_equal(found.classes, classes, strict=True)
    assert found.codes.dtype == np.intp
    assert found.classes[found.codes].tolist() == list(y)
    again = learn_labels(y[::-1], n=4, where="fit", classes=found.classes)
    assert again.classes is found.classes
    assert_array_equal(again.codes, found.codes[::-1])


def test_arrays_of_other_libraries_are_labels(xp):
    found = learn_labels(xp.asarray(NUMBERS), n=4, where="fit")
    assert_array_equal(found.classes, [-1, 2, 3])
    assert_array_equal(found.codes, [2, 0, 2, 1])


def test_a_column_of_labels_warns():
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        found = learn_labels(np.array(STRINGS)[:, None], n=4, where="fit")
    assert_array_equal(found.codes, [2, 1, 2, 0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, r"^fit: `y` must be given\. .*requires y to be passed, but the target y is"),
        (["a", "b"], r"^fit: `y` must be as long as `X` \(4 rows\)\. Got 2 rows\."),
        (["a", None, "b", "a"], r"`y` must be without missing values\. Got None at row 1"),
        (["a", np.nan, "b", "a"], r"`y` must be without missing values\. Got nan at row 1"),
        ([1, 2, None, 1], r"`y` must be without missing values\. Got None at row 2"),
        (pl.Series(["a", None, "b", "a"]), r"without missing values\. Got None at row 1"),
        (np.array([1, 2, np.nan, 1]), r"Input y contains NaN"),
        (np.array([1, 2, np.inf, 1]), r"Input y contains infinity"),
        (pd.Series([1, None, 2, 1], dtype="Int64"), r"Input y contains NaN"),
        (["a", 1, "b", "a"], r"`y` must be strings or numbers, not both\. Got 1 at"),
        ([0.5, 1, 2, 1], r"Unknown label type: continuous"),
        (np.ones((4, 2)), r"y should be a 1d array, got an array of shape \(4, 2\)"),
        ("abcd", r"y should be a 1d array"),
    ],
    ids=str,
)
def test_what_is_no_label_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        learn_labels(y, n=4, where="fit")


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        (["a", "c"], ["a", "b"], r"`y` must be of the labels \['a', 'b'\]\. Got 'c'\."),
        ([1, 2], ["1", "2"], r"`y` must be of the labels \['1', '2'\]\. Got 1\."),
        (["1", "2"], [1, 2], r"`y` must be of the labels \[1, 2\]\. Got '1'\."),
    ],
)
def test_labels_that_are_not_known_are_refused(y, classes, message):
    with pytest.raises(ValueError, match=message):
        learn_labels(y, n=2, where="fit", classes=np.array(classes))


def test_weights_of_classes(rng):
    y = rng.choice(["a", "b", "c"], 50, p=[0.7, 0.2, 0.1])
    labels, w = learn_labels(y, n=50, where="fit"), rng.uniform(0.5, 2, 50)
    assert class_weights(labels, None, None, "fit") is None
    assert class_weights(labels, None, w, "fit") is w
    balanced = class_weights(labels, "balanced", None, "fit")
    assert_allclose(balanced, compute_sample_weight("balanced", y))
    own = {"a": 0.5, "c": np.float32(2)}
    assert_allclose(class_weights(labels, own, None, "fit"), compute_sample_weight(own, y))
    weighted = class_weights(labels, own, w, "fit")
    assert_allclose(weighted, compute_sample_weight(own, y) * w)
    assert_allclose(class_weights(labels, "balanced", w, "fit").sum(), w.sum())


def test_balanced_weights_see_weighted_rows_as_repeated():
    y, w = np.array([3, 3, 1, 1, 7]), np.array([1.0, 2.0, 1.0, 0.0, 4.0])
    labels = learn_labels(y, n=5, where="fit")
    found = class_weights(labels, "balanced", w, "fit")
    repeated = np.repeat(y, w.astype(int))
    assert_allclose(
        np.repeat(found / np.maximum(w, 1), w.astype(int)),
        compute_sample_weight("balanced", repeated),
    )


def test_balanced_weights_of_a_class_without_weight():
    labels = learn_labels(["a", "a", "b", "c"], n=4, where="fit")
    found = class_weights(labels, "balanced", np.array([1.0, 1.0, 0.0, 2.0]), "fit")
    assert_allclose(found, [1, 1, 0, 2])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (
            "other",
            r"^fit: `class_weight` must be None, \"balanced\" or a dict .*Got 'other'",
        ),
        ([1, 2], r"`class_weight` must be None, \"balanced\" or a dict"),
        ({"z": 1.0}, r"`class_weight` must be of the labels \['a', 'b'\]\. Got 'z'"),
        ({"a": -1.0}, r"must be a finite number of at least 0 for each .*'a'\. Got -1\.0"),
        ({"a": np.inf}, r"must be a finite number of at least 0"),
        ({"b": "2"}, r"must be a finite number of at least 0 for each label, also 'b'"),
        ({"a": 0, "b": 0.0}, r"must be positive for a label of the sample"),
    ],
)
def test_weights_that_are_none_are_refused(weight, message):
    labels = learn_labels(["a", "b"], n=2, where="fit")
    with pytest.raises(ValueError, match=message):
        class_weights(labels, weight, None, "fit")


def test_weights_apart_by_more_than_numbers_can_tell():
    labels = learn_labels([0, 1], n=2, where="fit")
    with pytest.raises(ValueError, match="no row weighs 10"):
        class_weights(labels, {0: 1e200, 1: 1e-200}, None, "fit")
