"""The values of this room that a file can hold: landmarks, bases, moments, polynomials.

The sums of a compressed support are in :mod:`jointdist.lowrank.support_files`.
"""

import numpy as np

from jointdist._array import Array, to_numpy
from jointdist._rules import Text, require
from jointdist.data.codec import (
    Flag,
    Floats,
    Indices,
    Number,
    Optional,
    Schema,
    Tuple,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.kernels.files import kernel_field
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.factor import Landmarks
from jointdist.lowrank.features import FeatureMap, kernel_diagonal, kernel_matrix
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.monomials import factors_of
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.lowrank.polynomial_map import PolynomialMap, SampleKernel
from jointdist.lowrank.polynomials import Polynomials
from jointdist.lowrank.reduction import Reduced
from jointdist.lowrank.support_files import register_support

__all__ = ["register_lowrank", "require_kernel"]

# How far the product of a rotation with its transpose may be from one: rounding of the
# decomposition of 2,048 functions is a thousandth of it.
_ORTHOGONAL = 1e-6
# Landmarks at which the factor of the kernel is checked, and its relative error: that of a
# kernel in single precision.
_CHECKED, _FACTORED = 256, 1e-5
# The largest entry of a triangular matrix of polynomials, and the inverse of the smallest in its
# diagonal: those of columns of standard deviation one are near one, and products of four of
# these stay finite.
_LARGEST = 1e50
# The largest degree of a polynomial: far beyond what 2,048 functions allow.
_MOST_DEGREE = 2048
# The rounding of sums of squares that may exceed a trace, relative to it.
_ROUNDING = 1e-6


def register_lowrank(schema: Schema) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    _register_maps(schema)
    features, number = Value(FeatureMap, PolynomialMap, m="rank"), Number()
    schema.register(
        Landmarks,
        "landmarks",
        check=_check_landmarks,
        map=Value(FeatureMap),
        pivots=Indices("_"),
        trace=number,
        error=number,
    )
    schema.register(
        Basis,
        "basis",
        check=_check_basis,
        map=features,
        rotation=Floats("m", "m"),
        eigenvalues=Floats("m", least=0),
        mean=Floats("m"),
        pivots=Indices("_"),
        error=number,
        relative_error=number,
    )
    schema.register(
        Moments,
        "moments",
        check=_check_moments,
        count=Whole(least=1),
        rank_x=Whole(least=0, size="x"),
        rank_y=Whole(least=0, size="y"),
        gram=Floats("1+x+y", "1+x+y"),
        trace_x=number,
        trace_y=number,
        keys=Tuple(Str(), Str()),
        powers_y=Floats("1+y", "_"),
        powers_x=Optional(Floats("1+x", "_")),
    )
    schema.register(
        Reduced,
        "reduced",
        x=Value(Landmarks, x="map.rank"),
        y=Value(Landmarks, y="map.rank"),
        moments=Value(Moments, x="rank_x", y="rank_y"),
    )
    schema.register(
        Polynomials,
        "polynomials",
        x=Value(PolynomialMap, x="rank"),
        y=Value(PolynomialMap, y="rank"),
        moments=Value(Moments, x="rank_x", y="rank_y"),
        dropped=Tuple(Whole(least=0), Whole(least=0)),
    )
    schema.register(
        NoveltyDetector,
        "novelty_detector",
        map=Value(FeatureMap),
        explained=Number(above=0, most=1 + _ROUNDING),
        most=Number(least=0, infinite=True),
    )
    register_support(schema)


def _register_maps(schema: Schema) -> None:
    schema.register(
        FeatureMap,
        "feature_map",
        check=_check_features,
        kernel=kernel_field(),
        landmarks=Floats("m", "d"),
        core=Floats("m", "m"),
    )
    schema.register(
        PolynomialMap,
        "polynomial_map",
        check=_check_polynomials,
        degree=Whole(least=0, most=_MOST_DEGREE),
        exponents=Indices("m", "d"),
        centre=Floats("d"),
        scale=Floats("d", least=float(np.finfo(np.float64).tiny)),
        recurrence=Floats("m", "m", least=-_LARGEST, most=_LARGEST),
        core=Floats("m", "m", least=-_LARGEST, most=_LARGEST),
        doubtful=Flag(),
    )
    schema.register(SampleKernel, "sample_kernel", map=Value(PolynomialMap))


def require_kernel(where: str, kernel: object, points: Array) -> None:
    """Raise unless a kernel can be evaluated at points of a table.

    Parameters
    ----------
    where : str
        The class that holds the kernel.
    kernel : Kernel
        The kernel.
    points : Array of shape (m, d)
        The points.
    """
    d = points.shape[1]
    require(d, where, "landmarks", "of some columns", Text("none"))
    one = points[:1, :] if points.shape[0] else np.zeros((1, d))
    found = kernel_matrix(kernel, one, one), kernel_diagonal(kernel, one)  # type: ignore[arg-type]
    finite = all(np.isfinite(to_numpy(values)).all() for values in found)
    require(finite, where, "kernel", "finite at the landmarks", Text("others"))


def _check_features(found: FeatureMap) -> None:
    r"""Raise unless the core is the factor of :math:`k(P, P)`, which some rows tell."""
    where, P, C = "FeatureMap", found.landmarks, to_numpy(found.core)
    require_kernel(where, found.kernel, P)
    _require_triangular(where, "core", found.core)
    if not found.rank:
        return
    some = np.linspace(0, found.rank - 1, min(found.rank, _CHECKED)).astype(np.intp)
    K = to_numpy(kernel_matrix(found.kernel, to_numpy(P)[some], to_numpy(P)))
    v = np.cos(np.arange(found.rank))
    away = np.abs(C[some] @ (C.T @ v) - K @ v).max()
    good = bool(away <= _FACTORED * np.abs(K).max() * found.rank)
    require(good, where, "core", "the factor of the kernel at landmarks", Text("another"))


def _check_polynomials(found: PolynomialMap) -> None:
    where, e = "PolynomialMap", found.exponents
    constant = e.size > 0 and not e[0].any()
    require(constant, where, "exponents", "those of the constant first", Text("others"))
    require(e.max() <= found.degree, where, "exponents", "at most `degree`", int(e.max()))
    total = e.sum(axis=1)
    graded = bool((np.diff(total) >= 0).all() and total[-1] <= found.degree)
    graded = graded and bool((total[1:] > 0).all())
    require(graded, where, "exponents", "in graded order", Text("others"))
    factors_of(e)  # an error where a factor is missing
    for name in ("recurrence", "core"):
        matrix = getattr(found, name)
        _require_triangular(where, name, matrix)
        diagonal = np.abs(np.diagonal(to_numpy(matrix)))
        large = bool((diagonal >= 1 / _LARGEST).all())
        require(large, where, name, "of a diagonal that is not tiny", Text("another"))


def _require_triangular(where: str, name: str, matrix: Array) -> None:
    """Raise unless a matrix is lower triangular and can be inverted."""
    C = to_numpy(matrix)
    good = bool(np.diagonal(C).all()) and not np.triu(C, 1).any()
    rule = "lower triangular without zeros in its diagonal"
    require(good, where, name, rule, Text("others"))


def _check_landmarks(low: Landmarks | Basis) -> None:
    """Raise unless all landmarks are rows of the fit, or none is."""
    found, rank = len(low.pivots), low.map.rank
    require(found in {0, rank}, type(low).__name__, "pivots", f"{rank} or none", found)


def _check_basis(basis: Basis) -> None:
    _check_landmarks(basis)
    V, v = to_numpy(basis.rotation), np.cos(np.arange(basis.rank))
    away = np.abs(V @ (V.T @ v) - v).max(initial=0.0)
    close = bool(away <= _ORTHOGONAL)
    require(close, "Basis", "rotation", "an orthogonal matrix", Text("another"))


def _check_moments(sums: Moments) -> None:
    total = np.finfo(np.float64).tiny <= sums.weight < np.inf
    require(total, "Moments", "gram", "of positive weight", sums.weight)
    G = to_numpy(sums.gram)
    good = bool((np.diagonal(G) >= 0).all())
    require(good, "Moments", "gram", "of squares that are not negative", Text("others"))
