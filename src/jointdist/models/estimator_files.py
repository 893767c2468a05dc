"""The estimators that a file can hold: their parameters, and what a fit has learned.

A new attribute of a fit is one line here, in the table of its estimator.
"""

from collections.abc import Collection
from typing import get_args

from jointdist.data.codec import (
    Either,
    Flag,
    Floats,
    Indices,
    Integers,
    Number,
    Optional,
    Record,
    Schema,
    Sequence,
    Tuple,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.data.encoding import Encoding
from jointdist.data.sample import Sample
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels.files import kernel_field
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.moments import Moments, Precision
from jointdist.lowrank.polynomial_map import SampleKernel
from jointdist.lowrank.polynomials import Polynomials
from jointdist.lowrank.reduction import Reduced
from jointdist.models._parameter_files import (
    ClassWeights,
    KernelParameter,
    Seeds,
    SelectionParameter,
    SupportParameter,
)
from jointdist.models.classifier import JointClassifier
from jointdist.models.cme import CmePositivity, ConditionalMeanEmbedding
from jointdist.models.coefficients import Marginals, PolynomialPositivity, Positivity
from jointdist.models.conformal import ConformalCalibration
from jointdist.models.degrees import ChosenDegree
from jointdist.models.direct_pool import DirectPool
from jointdist.models.embedding import Embedding
from jointdist.models.estimator_fields import (
    COLUMNS,
    FACTORED,
    KERNELS,
    LABELS,
    MADE,
    NAMES,
    RIDGE,
    RUN,
    SELECTED,
    SOLVED,
    SUPPORT,
    Fields,
    register_estimator,
)
from jointdist.models.estimator_rules import (
    check_classifier,
    check_cme,
    check_conformal,
    check_joint,
    check_logistic,
    check_polynomial,
    check_regressor,
)
from jointdist.models.hurdle_model import HurdleModel
from jointdist.models.jdl import JointDistribution
from jointdist.models.joint import Joint
from jointdist.models.jpdl import PolynomialJointDistribution
from jointdist.models.klr import KernelLogisticRegression
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.log_linear import LogLinearJoint
from jointdist.models.pooled_model import PooledModel
from jointdist.models.regressor import DistributionRegressor
from jointdist.models.value_files import DISTRIBUTIONS, encodings_field
from jointdist.programs.embedding import Scope
from jointdist.programs.log_ratio import LogRatioSolution
from jointdist.programs.logistic import LogisticSolution
from jointdist.programs.solution import Solution
from jointdist.programs.sos import SumOfSquares
from jointdist.projection.recalibration import Recalibration
from jointdist.regression._foreign_files import Foreign
from jointdist.regression.effort import EFFORTS
from jointdist.regression.fitted_scale import ScaleRegression
from jointdist.regression.forest import Forest
from jointdist.regression.kernel_ridge import KernelRegression
from jointdist.regression.out_of_fold import FoldModels
from jointdist.regression.trees import TreeEnsemble
from jointdist.selection.kernel_search import Chosen

__all__ = ["ESTIMATORS", "register_estimators"]

ESTIMATORS = (
    *DISTRIBUTIONS,
    JointClassifier,
    KernelLogisticRegression,
    DistributionRegressor,
    ConformalCalibration,
)


def register_estimators(schema: Schema, trusted: Collection[str]) -> None:
    """Register all estimators.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    trusted : collection of str
        The types of regressors that users trust, by their full names.
    """
    _register_joint(schema)
    _register_polynomial(schema)
    _register_embedding(schema)
    _register_classifiers(schema)
    _register_regressor(schema, trusted)
    _register_conformal(schema)


def _register_joint(schema: Schema) -> None:
    arrays = Floats("_", least=0, dtypes=("float64", "float32"))
    whole = Integers("_", least=0, dtypes=("int64", "int32"))
    parameters: Fields = {
        "kernel_x": KernelParameter(),
        "kernel_y": KernelParameter(),
        "regularization": Either(Str("auto", "loo"), Number(least=0), arrays, whole),
        **FACTORED,
        "marginals": Str(*get_args(Marginals)),
        "positivity": Str(*get_args(Positivity)),
        **SUPPORT,
        "selection": SelectionParameter(strict=True),
        **RUN,
    }
    learned: Fields = {
        **COLUMNS,
        **KERNELS,
        "basis_x_": Value(Basis, x="rank"),
        "basis_y_": Value(Basis, y="rank"),
        "moments_": Value(Moments, x="rank_x", y="rank_y"),
        "solution_": Value(Solution, LogRatioSolution),
        **SOLVED,
        "coefficients_": Floats("_", "_"),
        "_chosen": Value(Chosen),
        "_reduction": Value(Reduced, x="x.map.rank", y="y.map.rank"),
        "_fitted": Value(Joint, LogLinearJoint, x="problem.x.rank", y="problem.y.rank"),
        "support_error_": Number(least=0, most=1),
        "support_error_x_": Number(least=0, most=1),
    }
    register_estimator(schema, JointDistribution, parameters, learned, check=check_joint)


def _register_polynomial(schema: Schema) -> None:
    degree = Whole(least=1)
    parameters: Fields = {
        "degree": Either(Str("auto"), degree),
        "regularization": RIDGE,
        "marginals": Str(*get_args(Marginals)),
        "positivity": Str(*get_args(PolynomialPositivity)),
        **SUPPORT,
        "selection": SelectionParameter(strict=True),
        **RUN,
    }
    learned: Fields = {
        **COLUMNS,
        "kernel_x_": Value(SampleKernel),
        "kernel_y_": Value(SampleKernel),
        "basis_x_": Value(Basis, x="rank"),
        "basis_y_": Value(Basis, y="rank"),
        "moments_": Value(Moments, x="rank_x", y="rank_y"),
        "solution_": Value(Solution, SumOfSquares),
        **SOLVED,
        "degrees_": Tuple(degree, degree),
        "dropped_": Tuple(Whole(least=0), Whole(least=0)),
        "_chosen": Value(ChosenDegree),
        "_polynomials": Value(Polynomials, x="x.rank", y="y.rank"),
        "_base": Value(Polynomials),
        "_factors": Optional(Tuple(Indices("_", below="y"), Indices("_", below="x"))),
        "_fitted": Value(Joint, x="problem.x.rank", y="problem.y.rank"),
        "support_error_": Number(least=0, most=1),
        "support_error_x_": Number(least=0, most=1),
    }
    cls = PolynomialJointDistribution
    register_estimator(schema, cls, parameters, learned, check=check_polynomial)


def _register_embedding(schema: Schema) -> None:
    parameters: Fields = {
        "kernel_x": KernelParameter(),
        "kernel_y": KernelParameter(),
        "regularization": RIDGE,
        **FACTORED,
        "low_rank": Flag(),
        "normalization": Str(*get_args(Scope)),
        "positivity": Str(*get_args(CmePositivity)),
        **SUPPORT,
        "selection": SelectionParameter(strict=True),
        **RUN,
    }
    learned: Fields = {
        **COLUMNS,
        **KERNELS,
        "basis_x_": Value(Basis, x="rank"),
        "solution_": Value(Solution),
        **SOLVED,
        "_chosen": Value(Chosen),
        "_fitted": Value(Embedding, x="basis_x.rank"),
    }
    low_rank: Fields = {
        "basis_y_": Value(Basis, y="rank"),
        "moments_": Value(Moments, x="rank_x", y="rank_y"),
        "_reduction": Value(Reduced, x="x.map.rank", y="y.map.rank"),
        "_was_free": Flag(),
        "_few": Flag(),
    }
    cls, optional = ConditionalMeanEmbedding, {**NAMES, **low_rank}
    register_estimator(schema, cls, parameters, learned, optional=optional, check=check_cme)


def _register_classifiers(schema: Schema) -> None:
    common: Fields = {"kernel_x": KernelParameter(), "regularization": RIDGE, **FACTORED}
    chosen: Fields = {
        "class_weight": ClassWeights(),
        "selection": SelectionParameter(strict=True),
        **RUN,
    }
    parameters: Fields = {
        **common,
        "marginals": Str(*get_args(Marginals)),
        "positivity": Str(*get_args(Positivity)),
        **SUPPORT,
        **chosen,
    }
    learned: Fields = {"classes_": LABELS, "joint_": Value(JointDistribution)}
    register_estimator(schema, JointClassifier, parameters, learned, check=check_classifier)
    parameters = {
        **common,
        "fit_intercept": Flag(),
        "precision": Str(*get_args(Precision)),
        "max_iter": Whole(least=1),
        "support_size": Whole(least=1),
        **chosen,
    }
    learned = {
        **COLUMNS,
        "classes_": LABELS,
        "kernel_x_": kernel_field(),
        "basis_x_": Value(Basis, x="rank"),
        "solution_": Value(LogisticSolution),
        "coefficients_": Floats("s", "x"),
        "intercept_": Floats("s"),
        "regularization_": Number(above=0),
        "n_iter_": Whole(least=0),
        **SELECTED,
        "_encoding": Value(Encoding),
        "_kept": Optional(Value(Sample)),
        "_columns": Record(COLUMNS, NAMES),
    }
    cls = KernelLogisticRegression
    optional = {**NAMES, **MADE}
    register_estimator(
        schema, cls, parameters, learned, optional=optional, check=check_logistic
    )


def _register_regressor(schema: Schema, trusted: Collection[str]) -> None:
    own = Foreign(trusted, "a regressor", lambda value: hasattr(value, "predict"))
    names = Str("auto", "kernel")
    one = Either(names, own)
    folds = Foreign(trusted, "a splitter", lambda value: hasattr(value, "split"))
    pair = Tuple(Indices("_"), Indices("_"))
    parameters: Fields = {
        "regressor": Either(names, Sequence(one), Sequence(one, of=list), own),
        "scale": Flag(),
        "distribution": Optional(Value(*DISTRIBUTIONS)),
        "kernel_x": KernelParameter(),
        "cv": Either(
            Whole(least=2), Sequence(pair, of=list), Sequence(pair), folds, Str("time")
        ),
        **RUN,
    }
    regressors = Value(KernelRegression, TreeEnsemble, FoldModels, Forest)
    learned: Fields = {
        **COLUMNS,
        "direct_": Flag(),
        "regressors_": Sequence(regressors, "k", of=list),
        "kernel_x_": Optional(Either(kernel_field(), Value(SampleKernel))),
        "scale_": Either(Value(ScaleRegression), Floats("_")),
        "distribution_": Value(*DISTRIBUTIONS),
        "_encodings": encodings_field(),
        "_model": Optional(Value(LocationScaleModel, PooledModel, HurdleModel, DirectPool)),
    }
    cls = DistributionRegressor
    optional = {**NAMES, "regressor_weights_": Floats("k", "_")}
    optional["weights_"] = Floats("k", "_")  # what older versions called them
    added: Fields = {
        "effort": Str(*EFFORTS),
        "support": SupportParameter(),
        "point_masses": Flag(),
        "integers": Flag(),
    }
    register_estimator(
        schema,
        cls,
        parameters,
        learned,
        optional=optional,
        added=added,
        check=check_regressor,
    )


def _register_conformal(schema: Schema) -> None:
    parameters: Fields = {
        "estimator": Value(*ESTIMATORS, what="an estimator of jointdist"),
        "share": Number(above=0, most=1),
        "random_state": Seeds(),
    }
    learned: Fields = {
        "estimator_": Value(*ESTIMATORS),
        "recalibration_": Value(Recalibration),
        "_marginal": Value(SupportPoints),
    }
    cls = ConformalCalibration
    register_estimator(schema, cls, parameters, learned, check=check_conformal)
