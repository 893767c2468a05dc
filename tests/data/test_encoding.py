"""Words in tables: codes that are the same whatever library the table comes from."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jointdist import JointDistribution, Selection
from jointdist.data.encoding import Encoding, learn_encoding

WORDS = ["pear", "fig", "apple", "fig", "pear"]
NUMBERS = [0.5, -1.0, 2.0, 3.0, 1e9]
CODED = [[2, 0.5], [1, -1], [0, 2], [1, 3], [2, 1e9]]
COLUMNS = {"fruit": WORDS, "size": NUMBERS}
PAIRS = list(zip(WORDS, NUMBERS, strict=True))

TABLES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas objects": pd.DataFrame({"fruit": np.array(WORDS, object), "size": NUMBERS}),
    "pandas categories": pd.DataFrame({"fruit": pd.Categorical(WORDS), "size": NUMBERS}),
    "polars": pl.DataFrame(COLUMNS),
    "polars categories": pl.DataFrame(
        {"fruit": pl.Series(WORDS, dtype=pl.Categorical), "size": NUMBERS}
    ),
    "polars enum": pl.DataFrame(
        {
            "fruit": pl.Series(WORDS, dtype=pl.Enum(["pear", "fig", "apple"])),
            "size": NUMBERS,
        }
    ),
    "pyarrow": pa.table(COLUMNS),
    "pyarrow dictionary": pa.table(
        {"fruit": pa.array(WORDS).dictionary_encode(), "size": NUMBERS}
    ),
    "lists": [list(pair) for pair in PAIRS],
    "tuples": tuple(PAIRS),
    "objects": np.array(PAIRS, dtype=object),
    "strings of NumPy": [[np.str_(word), np.float32(number)] for word, number in PAIRS],
}
VECTORS = {
    "pandas": pd.Series(WORDS),
    "pandas categories": pd.Series(pd.Categorical(WORDS)),
    "polars": pl.Series(WORDS),
    "pyarrow": pa.chunked_array([WORDS]),
    "list": WORDS,
    "array": np.array(WORDS),
    "strings of NumPy 2": np.array(WORDS, dtype=np.dtypes.StringDType()),
    "objects": np.array(WORDS, dtype=object),
    "column": np.array(WORDS)[:, None],
}


def learn(data, **arguments):
    encoding, rows = learn_encoding(data, where="fit", name="X", **arguments)
    return encoding, np.asarray(rows.read(0, rows.n))


@pytest.mark.parametrize("library", TABLES)
def test_categories_are_coded_in_the_order_of_the_alphabet(library):
    encoding, coded = learn(TABLES[library])
    if library == "polars enum":  # categories of an order of their own
        assert encoding.categories == (("pear", "fig", "apple"), None)
        assert encoding.kinds == ("ordered", "number")
        return
    assert encoding.categories == (("apple", "fig", "pear"), None)
    assert {type(word) for word in encoding.categories[0]} == {str}
    named = hasattr(TABLES[library], "columns")
    assert encoding.names == (("fruit", "size") if named else None)
    assert_array_equal(coded, CODED)
    assert encoding.width == 2
    assert not encoding.numeric


@pytest.mark.parametrize("other", TABLES)
@pytest.mark.parametrize("library", ["pandas", "lists"])
def test_any_table_is_read_with_the_coding_of_another(library, other):
    encoding, _ = learn(TABLES[library])
    rows = encoding.encode(TABLES[other], where="given", name="x")
    assert_array_equal(rows.read(0, 5), CODED)


@pytest.mark.parametrize("library", VECTORS)
def test_vectors_of_strings(library):
    encoding, coded = learn(VECTORS[library], vector=True)
    assert encoding.categories == (("apple", "fig", "pear"),)
    assert_array_equal(coded[:, 0], [2, 1, 0, 1, 2])
    rows = encoding.encode(VECTORS["list"], where="given", name="y", vector=True)
    assert_array_equal(rows.read(0, 5), coded)


@pytest.mark.parametrize("library", TABLES)
def test_decoding_undoes_coding(library):
    encoding, coded = learn(TABLES[library])
    decoded = encoding.decode(coded)
    assert decoded.dtype == object
    assert_array_equal(decoded, np.array(PAIRS, dtype=object))
    assert_array_equal(encoding.decode(coded[None, :2])[0], decoded[:2])  # of any shape
    encoding, coded = learn(WORDS, vector=True)
    assert_array_equal(encoding.decode(coded)[:, 0], WORDS)
    encoding, coded = learn(np.ones((2, 2)))
    assert encoding.decode(coded) is coded


def test_tables_of_numbers_are_not_copied():
    table = np.ones((4, 2))
    encoding, rows = learn_encoding(table, where="fit", name="X")
    assert encoding == Encoding((None, None))
    assert encoding.numeric
    assert np.shares_memory(rows.source, table)
    rows = encoding.encode(table, where="given", name="x")
    assert np.shares_memory(rows.source, table)


def test_booleans_and_objects_may_be_numbers():
    frame = pd.DataFrame({"word": ["a", "b"], "flag": [True, False], "size": [1, 2]})
    encoding, coded = learn(frame)
    assert encoding.categories == (("a", "b"), None, None)
    assert_array_equal(coded, [[0, 1, 1], [1, 0, 2]])
    encoding, coded = learn(np.array([[1, 2.5], [3, 4]], dtype=object))
    assert encoding.numeric
    assert_array_equal(coded, [[1, 2.5], [3, 4]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            [["a", 1], [None, 2]],
            r"complete, without missing.*Got 1 missing in column 0, at rows 1; drop",
        ),
        (
            [["a", 1], [np.nan, 2]],
            r"complete, .*Got 1 missing in column 0, at rows 1; drop",
        ),
        (
            [["a", 1], [3, 2]],
            r"of strings or of numbers in each.*Got 'a' at row 0, column 0\.$",
        ),
        (
            pl.DataFrame({"z": [1, 2], "w": ["a", None]}),
            r"complete, .*Got 1 missing in column 'w', at rows 1; drop",
        ),
        (
            pd.DataFrame({"w": ["a", None]}),
            r"complete, .*Got 1 missing in column 'w', at rows 1; drop",
        ),
        ([["a", None], ["b", 1]], r"complete, .*Got 1 missing in column 1, at rows 0"),
        (
            pd.DataFrame([["x", "y"]], columns=["a", "a"]),
            r"a table of unique columns\. Got .*'a' 2 times",
        ),
        (
            pd.DataFrame({"w": ["a"], "d": [pd.Timestamp("2020-01-01")]}),
            r"numeric or categorical\. Got times in column 'd'; give durations",
        ),
        (pl.LazyFrame({"w": ["a"]}), r"in memory\. Got a lazy frame; collect it first"),
        ([["a"], ["b", "c"]], r"a table of numbers\. Got .*inhomogeneous"),
        ([], r"a table with at least one row and one column\. Got shape \(0,\)"),
        (pd.DataFrame({"w": pd.Series([], dtype=str)}), r"a table with at least one row"),
        (
            ["a", "b"],
            r"a table of n rows and d columns\. Got a vector of strings\. Reshape",
        ),
        ({"w": ["a"]}, r"a table\. Got a dict; make a DataFrame of its columns"),
    ],
)
def test_tables_that_cannot_be_coded_are_refused(data, message):
    with pytest.raises(ValueError, match=r"^fit: `X` must be " + message):
        learn(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            [["fig", 1], ["kiwi", 2]],
            r"of categories seen in fit \('apple', 'fig', 'pear'\)\. Got 'kiwi' at row 1, column",
        ),
        (
            [[None, 1], ["fig", 2]],
            r"complete, .*Got 1 missing in column 'fruit', at rows 0",
        ),
        (
            [[3, 1], ["fig", 2]],
            r"of categories seen in fit .*Got 3 at row 0, column 'fruit'",
        ),
        ([["fig", "apple"]], r"numeric\. Got strings, as 'apple', in column 'size'"),
        (
            [["fig", np.inf]],
            r"finite, without NaN or infinity\. Got inf at row 0, column 1",
        ),
        (np.zeros((3, 2)), r"a table with categories in column 'fruit'\. Got numbers"),
        (
            pd.DataFrame({"fruit": [1], "size": [2]}),
            r"a table with categories in column 'fruit'",
        ),
        ([["fig", 1, 2]], r"a table of 2 columns\. Got 3"),
        ([["fig"]], r"a table of 2 columns\. Got 1"),
        (np.zeros((3, 3)), r"a table of 2 columns\. Got 3"),
        (
            pd.DataFrame({"fruit": ["fig"], "weight": [1]}),
            r"of columns \['fruit', 'size'\]\. Got \['fruit', 'weight'\]",
        ),
        (["fig", 1], r"a table of rows\. Got a single row of 2; put it in brackets"),
        (
            pd.Series({"fruit": "fig", "size": 1}),
            r"a table of rows\. Got a single row of 2; put it in brackets",
        ),
        (
            np.array(["fig", 1], dtype=object),
            r"a table of rows\. Got a single row of 2; put it in brackets",
        ),
        ({"fruit": "fig", "size": 1}, r"a table\. Got a dict; make a DataFrame"),
    ],
)
def test_tables_that_do_not_fit_the_coding_are_refused(data, message):
    encoding, _ = learn(TABLES["pandas"])
    with pytest.raises(ValueError, match=r"^given: `x` must be " + message):
        encoding.encode(data, where="given", name="x").read(0, 1)


def test_only_the_first_of_many_categories_are_listed():
    encoding, _ = learn([[f"w{i:02}"] for i in range(40)])
    with pytest.raises(
        ValueError, match=r"\('w00', .*'w09', \.\.\.\)\. Got 'x' at row 0, co"
    ):
        encoding.encode([["x"]], where="given", name="x")


def test_other_columns_are_refused_also_of_numbers():
    encoding, _ = learn(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    assert_array_equal(encoding.encode([[1, 2]], where="t", name="x").read(0, 1), [[1, 2]])
    with pytest.raises(ValueError, match=r"of columns \['a', 'b'\]\. Got \['b', 'a'\]"):
        encoding.encode(pl.DataFrame({"b": [1.0], "a": [2.0]}), where="t", name="x")


@pytest.fixture(scope="module")
def frame():
    """Return a frame of categories and numbers that depend on each other."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    sort = np.array(["fig", "kiwi", "pear"])[np.digitize(z, [-0.5, 0.5])]
    return pd.DataFrame({"size": rng.normal(size=200), "sort": sort, "price": z})


def test_models_are_the_same_whatever_the_library(frame):
    libraries = {
        "pandas": lambda f: f,
        "polars": lambda f: pl.DataFrame(f.to_dict("list")),
        "pyarrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
        "lists": lambda f: f.to_numpy().tolist(),
        "objects": lambda f: f.to_numpy(dtype=object),
    }
    told = []
    for convert in libraries.values():
        X, Y = convert(frame[["size", "sort"]]), convert(frame[["price"]])
        model = JointDistribution(selection=Selection(cv=0.2), random_state=0).fit(X, Y)
        back = model.given(y=frame[["price"]].to_numpy()[:5])
        found = model.given(x=X).mean(), back.prob(lambda x: x[:, 1] == "kiwi")
        told.append(np.concatenate(found))
        assert set(back.sample(9, random_state=0)[..., 1].ravel()) <= set(frame["sort"])
    for other in told[1:]:
        assert_allclose(other, told[0], rtol=1e-9, atol=1e-9)


def test_categories_of_y_come_back_as_they_were(frame):
    model = JointDistribution(random_state=0).fit(frame[["price"]], frame["sort"])
    dist = model.given(x=frame[["price"]])
    assert_array_equal(dist.support_points(), frame["sort"])
    assert (dist.mode() == frame["sort"]).mean() > 0.9
    assert_array_equal(model.predict(frame[["price"]]), dist.mode())
    chances = np.stack(
        [dist.prob(lambda y, w=w: y == w) for w in ("fig", "kiwi", "pear")], 1
    )
    assert_allclose(chances.sum(axis=1), 1, rtol=1e-9)
    assert model.score(frame[["price"]], frame["sort"]) > 0.5


def test_an_unknown_category_is_named_with_its_row_and_column(frame):
    model = JointDistribution(unknown="error", random_state=0)
    model.fit(frame[["size", "sort"]], frame["sort"])
    query = frame[["size", "sort"]].copy()
    query.loc[7, "sort"] = "plum"
    told = (
        r"must be of categories seen in fit \('fig', 'kiwi', 'pear'\)\. Got 'plum' at row 7"
    )
    with pytest.raises(ValueError, match=rf"\.given: `x` {told}, column 'sort'\.$"):
        model.given(x=query)
    with pytest.raises(ValueError, match=rf"\.given: `y` {told}, column 'sort'\.$"):
        model.given(y=query["sort"])
    with pytest.raises(ValueError, match=rf"\.predict: `X` {told}"):
        model.predict(query)
    with pytest.raises(ValueError, match=rf"\.score: `Y` {told}"):
        model.score(frame[["size", "sort"]], query["sort"])
    with pytest.raises(ValueError, match=rf"\.ratio: `X` {told}"):
        model.ratio(query, frame["sort"])


def test_columns_in_another_order_are_refused(frame):
    model = JointDistribution(selection=Selection(cv=0.2), random_state=0)
    model.fit(frame[["size", "sort"]], frame["price"])
    for other in (
        frame[["sort", "size"]],
        pl.DataFrame(frame[["sort", "size"]].to_dict("list")),
    ):
        with pytest.raises(
            ValueError, match="must be in the same order as they were in fit"
        ):
            model.given(x=other)
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        model.given(x=frame[["size", "sort"]].rename(columns={"size": "mass"}))
    both = JointDistribution(random_state=0).fit(frame[["price"]], frame[["size", "sort"]])
    with pytest.raises(
        ValueError, match=r"`y` must be of columns \['size', 'sort'\]\. Got \['so"
    ):
        both.given(y=frame[["sort", "size"]])


def test_categories_of_a_data_frame_are_categorical_also_if_they_are_numbers():
    frame = pd.DataFrame({"c": pd.Categorical([3, 1, 3])})
    encoding, rows = learn_encoding(frame, where="fit", name="X")
    assert encoding.categories == ((1, 3),)
    assert_array_equal(rows.read(0, 3)[:, 0], [1, 0, 1])
    assert_array_equal(encoding.decode(rows.read(0, 3))[:, 0], [3, 1, 3])
    again = encoding.encode(frame[1:], where="given", name="x")
    assert_array_equal(again.read(0, 2)[:, 0], [0, 1])


def test_an_index_of_strings_is_a_column():
    encoding, _ = learn_encoding(pd.Index(["b", "a"]), where="fit", name="Y", vector=True)
    assert encoding.categories == (("a", "b"),)


def test_a_series_keeps_its_name_for_messages_and_pictures():
    encoding, _ = learn_encoding(
        pd.Series([1.0, 2.0], name="y"), where="fit", name="Y", vector=True
    )
    assert encoding.names == ("y",)
    other = pd.Series([3.0], name="z")
    assert encoding.encode(other, where="given", name="y", vector=True).n == 1
    plain, _ = learn_encoding(pd.Series([1.0, 2.0]), where="fit", name="Y", vector=True)
    assert plain.names is None
