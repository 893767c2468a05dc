"""Rules of fitted estimators whose parts come from a file: they must fit each other."""

from typing import Any

from jointdist._rules import Text, require
from jointdist.data.encoding import Encoding
from jointdist.models.direct_pool import DirectPool

__all__ = [
    "check_classifier",
    "check_cme",
    "check_conformal",
    "check_fitted",
    "check_joint",
    "check_logistic",
    "check_polynomial",
    "check_regressor",
]


def check_fitted(model: Any) -> None:
    """Raise unless a fitted distribution has the columns of its estimator.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    d, found = model.n_features_in_, model._fitted.kept.design.shown.width  # noqa: SLF001
    require(found == d, type(model).__name__, "kept", f"of {d} columns", found)


def check_joint(model: Any) -> None:
    """Raise unless the coefficients of a joint distribution are those of its solution.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    check_fitted(model)
    where, shape = type(model).__name__, model.coefficients_.shape
    fitted = model._fitted.solution  # noqa: SLF001
    for solution in (model.solution_, fitted):
        found = solution.value.shape
        require(found == shape, where, "solution_", f"of shape {shape}", found)


def check_polynomial(model: Any) -> None:
    """Raise unless the polynomials of a model, and those of its squares, fit it.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    check_fitted(model)
    base, now = model._base, model._polynomials  # noqa: SLF001
    same = (base.x.width, base.y.width) == (now.x.width, now.y.width)
    require(same, "PolynomialJointDistribution", "_base", "of its columns", Text("others"))
    gram = getattr(model.solution_, "gram", None)
    if gram is not None:
        factors = model._factors  # noqa: SLF001
        size = 0 if factors is None else len(factors[0]) * len(factors[1])
        rule = f"of {size} products of functions"
        require(len(gram) == size, "SumOfSquares", "gram", rule, len(gram))


def check_cme(model: Any) -> None:
    """Raise unless an embedding has what its setting ``low_rank`` says.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    check_fitted(model)
    where, low_rank = "ConditionalMeanEmbedding", model._settings["low_rank"]  # noqa: SLF001
    names = ("basis_y_", "moments_", "_reduction")
    has = [name in vars(model) for name in names]
    good = all(has) if low_rank else not any(has)
    require(good, where, "low_rank", "that of the fit", low_rank)


def check_classifier(model: Any) -> None:
    """Raise unless a classifier has the labels of its joint distribution.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    where = "JointClassifier"
    fitted = "_learned_names" in vars(model.joint_)
    require(fitted, where, "joint_", "a fitted model", Text("another"))
    known = model.joint_._encodings[1].categories  # noqa: SLF001
    k, found = len(model.classes_), [len(each or ()) for each in known]
    require(found == [k], where, "classes_", f"the labels of {found}", k)


def check_logistic(model: Any) -> None:
    """Raise unless coefficients, classes and kept rows of a logistic regression agree.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    where, k = "KernelLogisticRegression", len(model.classes_)
    rows = 1 if k == 2 else k
    found = len(model.coefficients_)
    require(k > 1 and found == rows, where, "coefficients_", f"of {rows} rows", found)
    shape, solved = model.coefficients_.shape, model.solution_.value.shape
    require(shape == solved, where, "solution_", f"of shape {shape}", solved)
    width, d = model.basis_x_.map.width, _numbers(model, model._encoding, where)  # noqa: SLF001
    require(width == d, where, "basis_x_", f"of {d} columns", width)
    kept = model._kept  # noqa: SLF001
    if kept is not None:
        codes = kept.y.table()
        good = kept.x.d == d and codes.shape[1] == 1
        good = good and bool(((codes >= 0) & (codes < k) & (codes % 1 == 0)).all())
        require(good, where, "_kept", "rows with the codes of classes", Text("others"))


def _numbers(model: Any, encoding: Encoding, where: str) -> int:
    """Return how many columns of numbers X has, after checking how they are made."""
    made, d = model._made, model.n_features_in_  # noqa: SLF001
    shown = encoding if made is None else made.shown
    require(d == shown.width, where, "n_features_in_", f"{shown.width}", d)
    fine = made is None or made.encoding == encoding
    require(fine, where, "_made", "of the columns of X", Text("others"))
    return encoding.width


def check_regressor(model: Any) -> None:
    """Raise unless the parts of a regressor have the same columns.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    where, alone = "DistributionRegressor", model._model is None  # noqa: SLF001
    direct = alone or isinstance(model._model, DirectPool)  # noqa: SLF001
    require(direct == model.direct_, where, "direct_", f"{direct}", model.direct_)
    fitted = "_learned_names" in vars(model.distribution_)
    require(fitted, where, "distribution_", "a fitted model", Text("another"))
    widths = [side.width for side in model._encodings]  # noqa: SLF001
    shown, d = model._fitted_model.design_x.shown.width, model.n_features_in_  # noqa: SLF001
    require(d == shown, where, "n_features_in_", f"{shown}", d)
    own = model.distribution_._encodings if alone else model._model.encodings  # noqa: SLF001
    found = [side.width for side in own]
    require(found == widths, where, "_encodings", f"of columns {found}", widths)


def check_conformal(model: Any) -> None:
    """Raise unless a calibrated model is fitted, and of one column.

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    """
    where, inner = "ConformalCalibration", model.estimator_
    fitted = "_learned_names" in vars(inner) and hasattr(inner, "given")
    require(fitted, where, "estimator_", "a fitted model with `given`", Text("another"))
    scalar = model._marginal.is_scalar  # noqa: SLF001
    require(scalar, where, "_marginal", "one column of numbers", Text("others"))
