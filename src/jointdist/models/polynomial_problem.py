"""The problem of a polynomial model: degrees, row blocks, and the orthonormal basis."""

from math import comb
from typing import TypeAlias

import numpy as np

from jointdist._array import Index, array_namespace, device
from jointdist._rules import Text, require
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.polynomial_map import PolynomialMap
from jointdist.lowrank.polynomials import Polynomials
from jointdist.lowrank.structure import structure
from jointdist.lowrank.summation import Summation, summed
from jointdist.lowrank.support_proposal import propose_frame
from jointdist.models._arguments import PairedData
from jointdist.models.coefficients import Marginals, Problem, objective
from jointdist.models.kept_sample import KeptSample, support_plan
from jointdist.programs import SumOfSquares, sum_of_squares

__all__ = [
    "MOST_FUNCTIONS",
    "Factors",
    "feasible_degrees",
    "kept_polynomials",
    "polynomial_executor",
    "polynomial_problem",
    "require_independent",
    "require_numeric",
    "solve_squares",
    "warn_of_relations",
]

Factors: TypeAlias = tuple[Index, Index]

MOST_FUNCTIONS = 2048  # of a side: their Gram matrix takes 32 MB
_BLOCK_ROWS = 8192  # polynomials are few, so that larger blocks are faster


def feasible_degrees(
    where: str, sample: Sample, degree: int, step: int, *, warn: bool = False
) -> tuple[int, int]:
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
    warn : bool, default=False
        Whether to warn of a lower degree.
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
        if warn and own < degree:
            msg = (
                f"{where}: polynomials of degree {degree} in the {d} columns of "
                f"{name} would be {comb(degree + d, d):,}; their degree is {own}."
            )
            warn_user(msg, ToleranceWarning)
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
    weights = None if problem.points is not None else sample.weights
    rows = (sample.x, sample.y) if problem.points is None else problem.points
    y, C_y = structure(functions.y, rows[1], weights, executor=executor)
    x, C_x = structure(functions.x, rows[0], weights, executor=executor)
    return sum_of_squares(objective(problem, regularization), C_y, C_x), (y, x)


def kept_polynomials(
    data: PairedData,
    functions: Polynomials,
    support_size: int,
    executor: Executor | None,
) -> KeptSample:
    """Return what is kept of the rows of a fit; of very many, in one more pass over them.

    Parameters
    ----------
    data : PairedData
        The rows of the fit.
    functions : Polynomials
        The polynomials of both sides.
    support_size : int
        The largest number of rows that are kept.
    executor : Executor, optional
        Runs the row blocks.
    """
    plan, rows = support_plan(data, support_size), data.sample
    if plan is None:
        return KeptSample.of(data, support_size)
    maps = functions.x, functions.y
    frame = propose_frame(plan, maps, rows.x, rows.y, rows.weights)
    workers = polynomial_executor(rows, executor)
    sums = summed(Summation(*maps, frame), rows.x, rows.y, rows.weights, workers)
    return KeptSample.of(data, support_size, sums.support)


def require_numeric(where: str, encodings: tuple[Encoding, Encoding]) -> None:
    """Raise if a column is categorical.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    encodings : tuple of Encoding
        The columns of X and Y.
    """
    for name, encoding in zip("XY", encodings, strict=True):
        labels = [encoding.label(i) for i in encoding.factors]
        got = Text(f"categories in column {', '.join(labels)}; give indicators of them")
        require(not labels, where, name, "numbers", got)


def require_independent(
    where: str, kept: KeptSample, functions: Polynomials, base: Polynomials
) -> None:
    """Raise if functions would have to be dropped after rows are not kept any more.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    kept : KeptSample
        What is kept of the sample.
    functions, base : Polynomials
        The polynomials of the changed rows, and those whose sums are kept.
    """
    new, old = sum(functions.dropped), sum(base.dropped)
    rule = "rows with no more linear relations than those of the first fit; fit anew"
    got = Text(f"{new - old} more functions that are combinations of others")
    require(kept.rows is not None or new == old, where, "X, Y", rule, got)


def warn_of_relations(
    where: str, functions: Polynomials, *, squares: bool, given: bool
) -> None:
    """Warn if functions were dropped that the user has asked for.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    functions : Polynomials
        The polynomials of both sides.
    squares : bool
        Whether the ratio is a sum of squares.
    given : bool
        Whether users give the degree.
    """
    dropped = functions.dropped
    if not any(dropped) or not (squares or given):
        return
    msg = (
        f"{where}: {dropped[0]} functions of X and {dropped[1]} of "
        "Y are combinations of others on the sample, and were dropped. A lower "
        "`degree` needs fewer."
    )
    if squares:
        msg += " The ratio is positive where these relations hold, not everywhere."
    warn_user(msg, ToleranceWarning)
