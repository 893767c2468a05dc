"""The problem of a polynomial model: degrees, row blocks, and the orthonormal basis."""

from math import comb
from typing import TypeAlias

import numpy as np

from jointdist._array import Index, array_namespace, device
from jointdist._rules import Text, require
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.polynomial_map import PolynomialMap
from jointdist.lowrank.polynomials import Polynomials
from jointdist.lowrank.structure import structure
from jointdist.models.coefficients import Marginals, Problem, objective
from jointdist.programs import SumOfSquares, sum_of_squares

__all__ = [
    "MOST_FUNCTIONS",
    "Factors",
    "feasible_degrees",
    "polynomial_executor",
    "polynomial_problem",
    "solve_squares",
]

Factors: TypeAlias = tuple[Index, Index]

MOST_FUNCTIONS = 2048  # of a side: their Gram matrix takes 32 MB
_BLOCK_ROWS = 8192  # polynomials are few, so that larger blocks are faster


def feasible_degrees(where: str, sample: Sample, degree: int, step: int) -> tuple[int, int]:
    """Return for each side the degree, or the highest one with few enough functions.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    sample : Sample
        The rows.
    degree : int
        The degree that is wanted.
    step : int
        The lowest degree, and the step to the next.
    """
    found = []
    for name, d in ("X", sample.x.d), ("Y", sample.y.d):
        own = degree
        while own > step and comb(own + d, own) > MOST_FUNCTIONS:
            own -= step
        m, rule = comb(own + d, own), f"of at most {MOST_FUNCTIONS:,} functions"
        got = Text(f"{m:,}, from {d} columns")
        require(m <= MOST_FUNCTIONS, where, name, rule, got)
        found.append(own)
    return found[0], found[1]


def polynomial_executor(sample: Sample, executor: Executor | None) -> Executor:
    """Return the executor given, or one with blocks that suit few functions.

    Parameters
    ----------
    sample : Sample
        The rows.
    executor : Executor, optional
        The one that is given.
    """
    ours = executor is None and sample.x.in_host_memory
    return executor_for(sample.x, Executor(block_rows=_BLOCK_ROWS) if ours else executor)


def polynomial_problem(
    functions: Polynomials, sample: Sample, marginals: Marginals, executor: Executor | None
) -> Problem:
    """Return the problem in the basis of orthonormal polynomials.

    Parameters
    ----------
    functions : Polynomials
        The polynomials of both sides, and their moments.
    sample : Sample
        The rows.
    marginals : {"free", "total", "exact"}
        The constraint on the marginals.
    executor : Executor, optional
        Runs the row blocks.
    """
    weight, centred = functions.moments.weight, marginals == "exact"
    return Problem(
        _orthonormal_basis(functions.x, weight, centred=centred),
        _orthonormal_basis(functions.y, weight, centred=centred),
        functions.moments,
        sample,
        marginals,
        polynomial_executor(sample, executor),
    )


def _orthonormal_basis(functions: PolynomialMap, weight: float, *, centred: bool) -> Basis:
    """Return the polynomials as a basis; if centred, the constant becomes zero."""
    core = functions.core
    xp = array_namespace(core)
    eye = xp.eye(functions.rank, dtype=core.dtype, device=device(core))
    constant = eye[0, :] if centred else xp.zeros_like(eye[0, :])
    squares = (1 - constant) * weight
    return Basis(functions, eye, squares, constant, np.empty(0, np.intp), 0.0, 0.0)


def solve_squares(
    problem: Problem, functions: Polynomials, regularization: float
) -> tuple[SumOfSquares, Factors]:
    r"""Return the coefficients of a ratio that is a sum of squares, Eq. `eq:semdefcone`.

    Also the indices of the polynomials of Y and of X whose products are squared.

    Parameters
    ----------
    problem : Problem
        Bases, moments and rows.
    functions : Polynomials
        The polynomials of both sides.
    regularization : float
        The ridge :math:`\lambda`.
    """
    sample, executor = problem.sample, problem.executor
    y, C_y = structure(functions.y, sample.y, sample.weights, executor=executor)
    x, C_x = structure(functions.x, sample.x, sample.weights, executor=executor)
    return sum_of_squares(objective(problem, regularization), C_y, C_x), (y, x)
