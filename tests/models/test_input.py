"""What is asked wrongly is answered by a sentence that says what was wrong."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from jointdist import (
    JointClassifier,
    JointDistribution,
    KernelLogisticRegression,
    pivoted_cholesky,
)
from jointdist.kernels import Delta, Gaussian, Polynomial

K = Gaussian(1.0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] + RNG.normal(size=60)
WORDS = np.array(["oak", "elm", "yew"])[RNG.integers(3, size=60)]


@pytest.fixture(scope="module")
def model():
    """Return a model of a scalar Y."""
    return JointDistribution(random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def dist(model):
    """Return nine distributions of a scalar."""
    return model.given(x=X[:9])


@pytest.fixture(scope="module")
def vector(model):
    """Return three distributions of two columns."""
    return model.given(y=Y[:3])


@pytest.fixture(scope="module")
def words():
    """Return three distributions of categories."""
    return JointDistribution(random_state=0).fit(X, WORDS).given(x=X[:3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regularization": -1}, r'a number .*, "auto" or "loo"\. Got -1\.$'),
        ({"regularization": "small"}, r'a number .*, "auto" or "loo"\. Got \'small\''),
        ({"regularization": True}, r'a number .*, "auto" or "loo"\. Got True'),
        ({"regularization": np.nan}, r'a number .*, "auto" or "loo"\. Got nan'),
        ({"regularization": np.inf}, r'a number .*, "auto" or "loo"\. Got inf'),
        ({"marginals": "both"}, r"one of \('free', 'total', 'exact'\)\. Got 'both'"),
        (
            {"positivity": "yes"},
            r"one of \('projected', .*'none', .*'grid'.*\)\. Got 'yes'",
        ),
        ({"positivity": None}, r"one of .* Got None"),
        ({"kernel_x": "rbf"}, r'a kernel, .* or "auto"\. Got \'rbf\''),
        ({"kernel_y": 3}, r'a kernel, .* or "auto"\. Got 3'),
        ({"kernel_x": Gaussian}, r"a kernel: an object with `__call__\(X, Z\)` and"),
        ({"grid_rows": 0}, r"an integer of at least 1\. Got 0"),
        ({"grid_rows": 1.5}, r"an integer of at least 1\. Got 1\.5"),
        ({"tol": -0.1}, r"a number from 0 to below 1\. Got -0\.1"),
        ({"tol": 1}, r"a number from 0 to below 1\. Got 1"),
        ({"max_rank": 0}, r"an integer of at least 1, or None\. Got 0"),
        ({"pivoting": "best"}, r"one of \('auto', .*\)\. Got 'best'"),
        ({"random_state": "x"}, r"None, an integer from 0, a Generator or a Random"),
        ({"executor": 2}, r"an Executor, or None\. Got 2"),
    ],
)
def test_bad_settings_are_named_when_fitted(arguments, message):
    (name,) = arguments
    with pytest.raises(ValueError, match=rf"^\w+: `{name}` must be {message}"):
        JointDistribution(**arguments).fit(X, Y)


@pytest.mark.parametrize("positivity", ["pointwise", "rotated", "pivot"])
@pytest.mark.parametrize("name", ["kernel_x", "kernel_y"])
def test_positivity_everywhere_needs_bounded_kernels(name, positivity):
    model = JointDistribution(positivity=positivity, **{name: Polynomial(2)})
    message = rf"^JointDistribution: `{name}` must be of values from 0 to a bound, .*Got Pol.*known"
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, Y[:5]), r"`Y` must be as long as `X` \(60 rows\)\. Got 5 rows"),
        ((X, None), r"`Y` must be given\. Got None: fit requires y to be passed"),
        ((X[:, 0], Y), r"`X` must be a table of n rows and d columns.*Reshape your data"),
        ((X, np.zeros((60, 1, 1))), r"`Y` must be a vector or a table of rows\. Got shape"),
        (
            (X, np.where(Y > 1, np.nan, Y)),
            r"`Y` must be complete, .*Got \d+ missing in column 0, at rows",
        ),
        ((X, Y, [1.0]), r"`sample_weight` must be one number for each of the 60 rows"),
        ((X, Y, -np.ones(60)), r"`sample_weight` must be zero or positive\. Got -1\.0"),
        ((X, Y, np.zeros(60)), r"`sample_weight` must be positive somewhere"),
    ],
)
def test_bad_samples_are_refused(arguments, message):
    with pytest.raises(ValueError, match=f"^JointDistribution: {message}"):
        JointDistribution().fit(*arguments)


@pytest.mark.parametrize(
    "method", ["given", "predict", "ratio", "score", "forget", "marginal"]
)
def test_a_model_is_fitted_first(method):
    arguments = {"given": (X,), "predict": (X,), "marginal": ("y",)}.get(method, (X, Y))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(JointDistribution(), method)(*arguments)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        JointDistribution().dependence()


@pytest.mark.parametrize("method", ["ratio", "score", "partial_fit", "forget"])
def test_pairs_are_of_the_same_length(model, method):
    told = rf"^JointDistribution\.{method}: `Y` must be as long as `X` \(60 rows\)\. Got 5 rows"
    with pytest.raises(ValueError, match=told):
        getattr(model, method)(X, Y[:5])


@pytest.mark.parametrize("method", ["ratio", "score", "partial_fit", "forget"])
def test_pairs_have_the_columns_of_the_fit(model, method):
    with pytest.raises(
        ValueError, match=r"X has 3 features, but .* is expecting 2 features"
    ):
        getattr(model, method)(np.zeros((2, 3)), Y[:2])
    told = rf"^JointDistribution\.{method}: `Y` must be a table of 1 columns\. Got 2"
    with pytest.raises(ValueError, match=told):
        getattr(model, method)(X[:2], X[:2])


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, r"`x, y, where` must be given one of them\. Got none"),
        ({"x": X, "y": Y}, r"`x, y, where` must be given one of them\. Got x and y"),
        ({"x": np.zeros(2)}, r"`x` must be a table .*Reshape your data to \(1, "),
        ({"x": np.zeros((1, 2, 1))}, r"`x` must be a table of n rows and d columns"),
        (
            {"x": [["oak", 1.0]]},
            r"`x` must be numeric\. Got strings, as 'oak', in column 0",
        ),
        ({"x": [[0.0, np.inf]]}, r"`x` must be finite, .*Got inf at row 0, column 1"),
        ({"y": X}, r"`y` must be a table of 1 columns\. Got 2"),
        ({"y": 1.0}, r"`y` must be a vector or a table of rows\. Got .*brackets"),
    ],
)
def test_conditions_are_of_one_side(model, conditions, message):
    with pytest.raises(ValueError, match=rf"^JointDistribution\.given: {message}"):
        model.given(**conditions).mean()  # numbers are checked as they are read


def test_conditions_have_the_columns_of_the_fit(model):
    for ask in (model.given, model.predict):
        with pytest.raises(
            ValueError, match=r"X has 3 features, but .* is expecting 2 features"
        ):
            ask(np.zeros((1, 3)))


def test_marginals_are_of_x_or_y(model):
    with pytest.raises(
        ValueError, match=r'marginal: `of` must be one of "x" and "y"\. Got 1'
    ):
        model.marginal(1)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (lambda y: y, r"a function to True or False\. Got values of type float64"),
        (
            lambda y: y[:2] > 0,
            r"a function of 60 support points to 60 values\. Got shape \(2,\)",
        ),
        (lambda _: True, r"a function of 60 support points to 60 values\. Got shape \(\)"),
        (
            Y > 0,
            r"a function of the support points, .*, or an expression over columns\. Got array",
        ),
        (
            None,
            r"a function of the support points, .*, or an expression over columns\. Got None",
        ),
    ],
)
def test_events_are_functions_to_true_or_false(dist, event, message):
    with pytest.raises(ValueError, match=rf"^Conditional\.prob: `event` must be {message}"):
        dist.prob(event)


def test_events_of_several_columns_are_one_answer_a_row(vector):
    with pytest.raises(
        ValueError, match=r"60 support points to 60 values\. Got shape \(60, 2\)"
    ):
        vector.prob(lambda x: x > 0)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (
            lambda y: y[:3],
            r"a function of 60 support points to 60 values\. Got shape \(3,\)",
        ),
        (lambda _: 1.0, r"a function of 60 support points to 60 values\. Got shape \(\)"),
        (lambda y: y.astype(str), r"a function to numbers\. Got values of type <U"),
        (lambda y: y * 1j, r"a function to numbers\. Got values of type complex128"),
        (3, r"a function of the support points, such as `lambda y: y\*\*2`\. Got 3"),
    ],
)
def test_expectations_are_of_functions_to_numbers(dist, f, message):
    with pytest.raises(ValueError, match=rf"^Conditional\.expect: `f` must be {message}"):
        dist.expect(f)


@pytest.mark.parametrize("levels", [0, 1, -0.1, np.nan, [0.5, 1.2], [], [[0.5]]])
def test_levels_are_between_zero_and_one(dist, levels):
    with pytest.raises(
        ValueError, match=r"^Conditional\.quantile: `levels` must be a number or"
    ):
        dist.quantile(levels)
    with pytest.raises(
        ValueError, match=r"^Conditional\.interval: `level` must be a number bet"
    ):
        dist.interval(levels)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([1.0, 2.0], r"one point for each of the 9 distributions if not `grid`\. Got 2"),
        ([[1.0, 2.0]], r"a table of 1 columns\. Got 2"),
        (np.nan, r"complete, .*Got 1 missing in column 0, at rows 0"),
        ("oak", r"numeric\. Got strings, as 'oak', in column 0"),
    ],
)
def test_points_are_those_of_the_side(dist, points, message):
    for method in ("cdf", "pdf", "logpdf"):
        with pytest.raises(
            ValueError, match=rf"^Conditional\.{method}: `y` must be {message}"
        ):
            getattr(dist, method)(points, grid=False)


@pytest.mark.parametrize("points", [1.0, [1.0, 2.0, 3.0], [[1.0, 2.0, 3.0]]])
def test_points_of_vectors_have_all_columns(vector, points):
    for method in ("cdf", "pdf"):
        with pytest.raises(
            ValueError, match=rf"^Conditional\.{method}: `y` must be a .*Got"
        ):
            getattr(vector, method)(points)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "many"])
def test_draws_are_counted(dist, size):
    with pytest.raises(
        ValueError, match=r"^Conditional\.sample: `size` must be an integer of a"
    ):
        dist.sample(size)
    with pytest.raises(
        ValueError, match=r"^Conditional\.sample: `random_state` must be None"
    ):
        dist.sample(random_state="seed")


@pytest.mark.parametrize("name", ["mean", "var", "std", "cov", "second_moment", "median"])
def test_words_have_no_moments(words, name):
    rule = r"`the distribution` must be of numbers\. Got categories in column 0; ask `pr"
    with pytest.raises(ValueError, match=rf"^Conditional\.{name}: {rule}"):
        getattr(words, name)()


@pytest.mark.parametrize("name", ["cdf", "quantile", "interval"])
def test_words_have_no_order(words, name):
    with pytest.raises(
        ValueError, match=rf"^Conditional\.{name}: `the distribution` must be of numbers"
    ):
        getattr(words, name)(0.5)


@pytest.mark.parametrize("name", ["pdf", "logpdf"])
def test_discrete_laws_have_no_density(words, name):
    told = (
        rf"^Conditional\.{name}: `y` must be of a variable with a density\. Got a discrete"
    )
    with pytest.raises(ValueError, match=told):
        getattr(words, name)("oak")
    binary = JointDistribution(random_state=0).fit(X, (Y > 0) * 1).given(x=X[:3])
    with pytest.raises(ValueError, match=told):
        getattr(binary, name)(0.0)


def test_pictures_are_of_a_few_scalar_laws(dist, vector):
    rule = r"`the distribution` must be of at most 8 conditions\. Got 9; choose some"
    with pytest.raises(ValueError, match=rf"^Conditional\.plot: {rule}"):
        dist.plot()
    with pytest.raises(
        ValueError, match=r"^Conditional\.plot: `the distribution` must be of one column"
    ):
        vector.plot()


@pytest.mark.parametrize("index", [1.5, -10])
def test_laws_are_chosen_by_number(dist, index):
    with pytest.raises(
        IndexError, match=r"^Conditional: .*, where there are 9 distributions$"
    ):
        dist[index]


@pytest.mark.parametrize("index", [None, [[0, 1]], [], slice(3, 3)])
def test_what_chooses_no_laws_is_refused(dist, index):
    with pytest.raises(ValueError, match=r"^Conditional: `index` must be a choice of at"):
        dist[index]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: JointDistribution().fit(x, Y),
        lambda x: JointDistribution().fit(X, x),
        lambda x: JointDistribution(K, K, regularization=0.1).fit(X, Y).given(x),
        lambda x: JointDistribution(K, K, regularization=0.1).fit(X, Y).predict(x),
        lambda x: JointDistribution(K, K, regularization=0.1).fit(X, Y, x),
        lambda x: JointClassifier().fit(x, Y > 0),
        lambda x: KernelLogisticRegression().fit(x, Y > 0),
        lambda x: pivoted_cholesky(K, x),
    ],
    ids=["X", "Y", "given", "predict", "weights", "classifier", "logistic", "engine"],
)
def test_a_dict_is_not_a_table(call):
    with pytest.raises(ValueError, match=r"must be a table\. Got a dict; make a DataFrame"):
        call({"a": Y})


def test_a_single_row_with_categories_is_a_row_in_brackets():
    frame = pd.DataFrame({"number": X[:, 0], "category": np.where(Y > 0, "u", "v")})
    model = JointDistribution(
        K.on(0) * Delta().on(1), K, regularization=0.1, random_state=0
    ).fit(frame.to_numpy(), Y)  # without names, which lists do not have
    row = frame.iloc[3]
    for single in row, row.tolist(), row.to_numpy():
        with pytest.raises(ValueError, match="a single row of 2; put it in brackets"):
            model.given(single)
        assert_array_equal(model.predict([single]), model.predict(frame.to_numpy()[[3]]))
