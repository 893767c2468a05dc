"""Optimisation programs on plain arrays, solved with a certificate of optimality.

Most minimise the same diagonal quadratic under different positivity constraints; one is
maximum likelihood of a log-linear ratio, one logistic regression. None depends on kernels or
data. Costs are stated per step, with :math:`m_Y m_X` coefficients.
"""

from jointdist.programs._intercepts import (
    Intercepts,
    TiltedRows,
    best_intercepts,
    cell_probabilities,
)
from jointdist.programs.embedding import embedding
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.grid import grid_positive
from jointdist.programs.log_ratio import (
    LogRatioProblem,
    LogRatioSolution,
    maximum_likelihood,
)
from jointdist.programs.logistic import LogisticSolution, logistic
from jointdist.programs.objective import Objective, closed_form
from jointdist.programs.pivot import pivot_positive
from jointdist.programs.product_bounds import product_bounds
from jointdist.programs.solution import Certificate, Solution, Status
from jointdist.programs.sos import SumOfSquares, sum_of_squares
from jointdist.programs.spectral import spectral_ball
from jointdist.programs.tightened import tightened

__all__ = [
    "Blocks",
    "Certificate",
    "Intercepts",
    "LogRatioProblem",
    "LogRatioSolution",
    "LogisticSolution",
    "Objective",
    "Solution",
    "Status",
    "SumOfSquares",
    "TiltedRows",
    "best_intercepts",
    "cell_probabilities",
    "closed_form",
    "embedding",
    "grid_positive",
    "logistic",
    "maximum_likelihood",
    "pivot_positive",
    "product_bounds",
    "spectral_ball",
    "sum_of_squares",
    "tightened",
]
