"""Events of coded rows: expressions and functions that get the columns by name."""

import numpy as np
import pytest

import jointdist as jd
from jointdist.data.encoding import Encoding
from jointdist.data.events import columns_of, happens, named, names_of, values_of

MIXED = Encoding((None, ("EWR", "JFK"), (1, 2)), ("delay", "origin", "class"))
ROWS = np.array([[30.0, 1.0, 0.0], [5.0, 0.0, 1.0], [-3.0, 1.0, 1.0]])


def ask(event, encoding=MIXED, z=ROWS, **options):
    return happens(event, encoding, z, where="ask", name="event", **options).tolist()


def test_columns_come_in_their_own_types():
    columns = columns_of(MIXED, ROWS)
    assert list(columns) == ["delay", "origin", "class"]
    assert [column.dtype.kind for column in columns.values()] == ["f", "U", "i"]
    assert columns["origin"].tolist() == ["JFK", "EWR", "JFK"]
    assert list(columns_of(MIXED, ROWS, only=["class"])) == ["class"]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("delay > 0", [True, True, False]),
        ("delay > 0 and origin == 'JFK'", [True, False, False]),
        ("`class` == 2 or origin in ('LGA',)", [False, True, True]),
        ("True", [True, True, True]),
        (lambda y: y["delay"] > 0, [True, True, False]),
        (lambda y: y[:, 0] > 0, [True, True, False]),
        (lambda y: (y["origin"] == "JFK") & (y["class"] > 1), [False, False, True]),
        (lambda y: (y[["delay", "class"]] > 0).all(axis=1), [True, True, False]),
    ],
)
def test_an_event_is_asked_by_name_or_by_place(event, expected):
    assert ask(event) == expected


def test_columns_without_names_are_called_by_their_places():
    z = np.array([[1.0, 5.0], [2.0, 4.0]])
    pair = Encoding((None, None))
    assert names_of(pair) == ("y0", "y1")
    assert ask("y1 - y0 > 3", pair, z) == [True, False]
    assert ask("x0 > 1", pair, z, side="x") == [False, True]
    assert ask(lambda x: x["x1"] > 4, pair, z, side="x") == [True, False]
    assert ask("y > 1", Encoding((None,)), z[:, :1]) == [False, True]
    assert ask(lambda y: y > 1, Encoding((None,)), z[:, :1]) == [False, True]


def test_points_are_arrays_of_the_usual_kind():
    pair = Encoding((None, None), ("a", "b"))
    z = np.array([[1.0, 5.0], [2.0, 4.0]])
    points = named(pair, z)
    np.testing.assert_array_equal(points, z)
    for found in (
        points + 1,
        points @ z,
        points[0],
        points[points > 1],
        points.sum(axis=1),
    ):
        assert type(found) is np.ndarray
    assert type(np.exp(points, out=np.empty((2, 2)))) is np.ndarray
    assert named(MIXED, ROWS).dtype == object  # mixed columns, as they were
    assert named(Encoding((None,)), z[:, :1]).shape == (2,)


def test_columns_that_are_not_there_are_named():
    with pytest.raises(
        jd.ExpressionError, match=r"^ask: `event` .* did you mean 'delay'\?"
    ):
        ask("dely > 0")
    with pytest.raises(KeyError, match=r"`column` must be one of \['delay', .*Got 'dely'"):
        ask(lambda y: y["dely"] > 0)
    with pytest.raises(KeyError, match=r"`column` must be one of \[\]"):
        ask(lambda y: np.copy(y, subok=True)["delay"] > 0)  # whose names are not known
    with pytest.raises(KeyError, match="`column` must be one of"):
        ask(lambda y: y[["delay", "dest"]].any(axis=1))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            3,
            "function of the support points, such as .*, or an expression over columns. Got 3",
        ),
        (lambda y: y[:, 0], "a function to True or False. Got values of type object"),
        (lambda _: np.array([True]), "3 support points to 3 values. Got shape \\(1,\\)"),
        ("delay", r"An event is True or False, and this is a number; compare it"),
    ],
)
def test_what_is_no_event_is_refused(event, message):
    with pytest.raises(ValueError, match=rf"(?s)^ask: `event` must be .*{message}"):
        ask(event)


def test_functions_to_numbers_are_checked():
    points = named(MIXED, ROWS)
    found = values_of(lambda y: y["delay"] ** 2, points, where="expect", name="f")
    np.testing.assert_array_equal(found, ROWS[:, 0] ** 2)
    with pytest.raises(ValueError, match=r"^expect: `f` must be a function to numbers"):
        values_of(lambda y: y["origin"], points, where="expect", name="f")
    with pytest.raises(ZeroDivisionError) as caught:
        values_of(lambda _: 1 / 0, points, where="expect", name="f")
    assert "expect: `f` was called with 3 support points" in caught.value.__notes__[0]
