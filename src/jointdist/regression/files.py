"""The values of this room that a file can hold: fitted regressions of location and scale."""

from collections.abc import Collection
from typing import Any

import numpy as np

from jointdist._rules import Text, require
from jointdist.data.codec import (
    Added,
    Choice,
    Floats,
    Indices,
    Integers,
    Narrow,
    Number,
    Optional,
    Schema,
    Sequence,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.data.encoding import Encoding
from jointdist.kernels.files import kernel_field
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.files import require_kernel
from jointdist.regression._foreign_files import Foreign
from jointdist.regression.fitted_location import (
    ForestLocation,
    KernelLocation,
    RegressorLocation,
    StackedLocation,
    TreeLocation,
)
from jointdist.regression.fitted_scale import ConstantScale, ScaleRegression
from jointdist.regression.fitted_trend import LinearTrend, Sparsity
from jointdist.regression.forest import ColumnRanks, Forest
from jointdist.regression.forest_rules import check_forest, check_ranks
from jointdist.regression.kernel_ridge import KernelRegression
from jointdist.regression.kernel_smoother import KernelSmoother
from jointdist.regression.kriging import Kriging
from jointdist.regression.out_of_fold import FoldModels
from jointdist.regression.trees import TreeEnsemble

__all__ = ["register_regression", "require_location", "require_scale"]

_SMALLEST = float(np.finfo(np.float64).tiny)
_LARGEST_LOG = 1400.0  # twice the logarithm of the largest number: scales stay finite


def register_regression(schema: Schema, trusted: Collection[str]) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    trusted : collection of str
        The types of regressors that users trust, by their full names.
    """
    _register_kernels(schema)
    _register_trees(schema)
    models = Foreign(trusted, "regressors of each target and fold", _are_regressors)
    schema.register(FoldModels, "fold_models", models=models, where=Str())
    none = Choice(None)
    schema.register(KernelLocation, "kernel_location", model=Value(KernelRegression))
    schema.register(
        TreeLocation,
        "tree_location",
        model=Value(TreeEnsemble),
        kernel=none,
        encoding=Added(Value(Encoding)),
    )
    schema.register(
        RegressorLocation, "regressor_location", model=Value(FoldModels), kernel=none
    )
    schema.register(
        ForestLocation,
        "forest_location",
        model=Value(Forest, k="count"),
        centres=Floats("k", "_"),
        kernel=none,
    )
    places = Value(KernelLocation, TreeLocation, RegressorLocation, ForestLocation)
    schema.register(
        StackedLocation,
        "stacked_location",
        check=_check_stacked,
        parts=Sequence(places, "k", of=list),
        weights=Floats("k", "r"),
    )
    schema.register(
        Sparsity,
        "sparsity",
        map=Value(FeatureMap, m="rank"),
        remaining=Floats("m", "m"),
        low=Number(least=0, most=1),
        high=Number(least=0, most=1),
    )
    schema.register(
        LinearTrend,
        "linear_trend",
        columns=Indices("p"),
        centre=Floats("p"),
        slopes=Floats("p", "r"),
        mean=Floats("r"),
        ends=Floats(2, "p", finite=False),
        seen=Floats(2, "p"),
        error=Floats("r", least=0),
        sparsity=Optional(Value(Sparsity)),
    )
    schema.register(ConstantScale, "constant_scale", value=Floats("r", least=0))
    smoother = Value(KernelSmoother, r="constant.size")
    schema.register(
        ScaleRegression,
        "scale_regression",
        on_forecast=smoother,
        on_x=smoother,
        shares=Floats(2, "r"),
        ends=Floats(2, "r", least=-_LARGEST_LOG, most=_LARGEST_LOG),
        unit=Floats("r", least=0),
    )


def require_location(where: str, location: StackedLocation, d: int, r: int) -> None:
    """Raise unless a location has given numbers of columns of X and of Y.

    Parameters
    ----------
    where : str
        The class that holds it.
    location : StackedLocation
        The location.
    d, r : int
        The numbers.
    """
    require(location.weights.shape[1] == r, where, "location", f"of {r} columns", d)
    for part in location.parts:
        model: Any = part.model
        if isinstance(model, TreeEnsemble):
            widths = [model.width]
        elif isinstance(model, Forest):
            widths = [model.columns.encoding.width]
        elif isinstance(model, KernelRegression):
            widths = [_width(each) for each in model.parts]
        else:
            widths = []
        same = all(width == d for width in widths)
        require(same, where, "location", f"of {d} columns of X", Text(widths))


def require_scale(
    where: str, scale: ConstantScale | ScaleRegression, d: int, r: int
) -> None:
    """Raise unless a scale has given numbers of columns of X and of Y.

    Parameters
    ----------
    where : str
        The class that holds it.
    scale : ConstantScale or ScaleRegression
        The scale.
    d, r : int
        The numbers.
    """
    if isinstance(scale, ConstantScale):
        found, expected = [len(scale.value)], [r]
    else:
        widths = _width(scale.on_forecast), _width(scale.on_x)
        found, expected = [len(scale.unit), *widths], [r, r, d]
    require(found == expected, where, "scale", f"of columns {expected}", found)


def _width(part: KernelSmoother | Kriging) -> int:
    table = part.rows if isinstance(part, Kriging) else part.landmarks
    return int(table.shape[1])


def _register_kernels(schema: Schema) -> None:
    kernel = kernel_field()
    schema.register(
        KernelSmoother,
        "kernel_smoother",
        check=lambda fit: require_kernel("KernelSmoother", fit.kernel, fit.landmarks),
        kernel=kernel,
        landmarks=Floats("m", "d"),
        coefficients=Floats("m", "r"),
        constant=Floats("r"),
    )
    schema.register(
        Kriging,
        "kriging",
        check=_check_kriging,
        kernel=kernel,
        rows=Floats("n", "d"),
        targets=Floats("n", "r"),
        noise=Floats("n", least=_SMALLEST),
        unit=Floats("d", least=_SMALLEST),
        ridge=Floats("r", least=0),
    )
    schema.register(
        KernelRegression,
        "kernel_regression",
        check=_check_regression,
        parts=Sequence(Value(KernelSmoother, Kriging), "k", of=list),
        shares=Floats("k", "r"),
        mean=Floats("r"),
        ends=Floats(2, "r"),
    )


def _register_trees(schema: Schema) -> None:
    schema.register(
        TreeEnsemble,
        "tree_ensemble",
        check=TreeEnsemble.check,
        column=Integers("n", dtypes=("int32",)),
        value=Floats("n", finite=False),
        right=Integers("n", dtypes=("int32",)),
        missing_left=Integers("n", dtypes=("uint8",)),
        roots=Integers("_"),
        members=Integers("_"),
        baseline=Floats("r", "k"),
        width=Whole(least=1),
        categorical=Integers("c", dtypes=("int32",)),
        codes=Narrow("int16", "k", "c", "_"),
        subsets=Narrow("uint32", "s", 8),
    )
    schema.register(
        ColumnRanks,
        "column_ranks",
        check=check_ranks,
        edges=Floats("d", "_", finite=False),
        ranks=Integers("d", "_", dtypes=("int16",), least=-1),
        categorical=Integers("_", dtypes=("int32",), least=0),
        encoding=Value(Encoding, d="width"),
    )
    schema.register(
        Forest,
        "forest",
        check=check_forest,
        columns=Value(ColumnRanks),
        column=Integers("n", dtypes=("int16",), least=-1),
        threshold=Integers("n", dtypes=("int16",)),
        right=Integers("n", dtypes=("int32",)),
        roots=Integers("_"),
        starts=Integers("_", dtypes=("int32",)),
        cell=Integers("e", dtypes=("uint16",)),
        share=Floats("e", dtypes=("float32",), least=0, most=1),
        count=Whole(least=1),
    )


def _check_kriging(fit: Kriging) -> None:
    require(len(fit.rows), "Kriging", "rows", "some", Text("none"))
    require_kernel("Kriging", fit.kernel, fit.rows)


def _check_regression(fit: KernelRegression) -> None:
    where, r = "KernelRegression", fit.shares.shape[1]
    require(fit.parts, where, "parts", "at least one", Text("none"))
    for part in fit.parts:
        table = part.targets if isinstance(part, Kriging) else part.coefficients
        found = int(table.shape[1])
        require(found == r, where, "parts", f"of {r} targets", found)


def _check_stacked(location: StackedLocation) -> None:
    where, r = "StackedLocation", location.weights.shape[1]
    require(location.parts, where, "parts", "at least one", Text("none"))
    for part in location.parts:
        model: Any = part.model
        if isinstance(model, FoldModels):
            found = len(model.models)
        elif isinstance(model, TreeEnsemble):
            found = model.baseline.shape[0]
        elif isinstance(part, ForestLocation):
            found = part.centres.shape[1]
        else:
            found = model.shares.shape[1]
        require(found == r, where, "parts", f"of {r} targets", found)


def _are_regressors(models: Any) -> bool:
    """Tell whether there are lists of objects that can predict."""
    lists = type(models) is list and len(models) > 0
    return lists and all(
        type(folds) is list and folds and all(hasattr(model, "predict") for model in folds)
        for folds in models
    )
