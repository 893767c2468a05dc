"""The solution of a program, with a certificate of how close to optimal it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Certificate", "Solution", "Status"]


class Status(Enum):
    """How a program ended; the value is the sentence for the user, with the remedy.

    Attributes
    ----------
    ok : bool
        Whether the program was solved as it was to be: to its tolerance, or until it was
        stopped on purpose.
    """

    OPTIMAL = "The program was solved to its tolerance."
    STOPPED = (
        "It was stopped before the optimum, as the fits were whose scores on held-out rows "
        "chose the ridge."
    )
    INEXACT = (
        "The constraints hold, but the optimum was not reached to tolerance: `gap` in "
        "the certificate bounds what is missing. Raise `regularization`."
    )
    INFEASIBLE = (
        "No coefficients satisfy the constraints, or none with room to spare: no function "
        "of X in the basis is one, or clearly positive, where it has to be. Ask for "
        '"average" in place of "sample", or use a kernel of X with positive values.'
    )

    def __init__(self, _sentence: str) -> None:
        self.ok: bool = self.name in {"OPTIMAL", "STOPPED"}


@dataclass(frozen=True, slots=True)
class Certificate:
    """Residuals of the optimality (KKT) conditions, each relative to its terms.

    Attributes
    ----------
    stationarity : float
        The largest violation of the stationarity condition.
    feasibility : float
        The largest violation of a constraint; zero if all of them hold.
    complementarity : float
        The product of multiplier and slack.
    gap : float
        The objective less a lower bound that holds for certain, relative to the
        objective: no feasible point is better by more.
    """

    stationarity: float = 0.0
    feasibility: float = 0.0
    complementarity: float = 0.0
    gap: float = 0.0

    @property
    def residual(self) -> float:
        """The largest of the residuals of stationarity, feasibility, complementarity."""
        return max(self.stationarity, self.feasibility, self.complementarity)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    r"""The solution of a program.

    Attributes
    ----------
    value : array of shape (m_Y, m_X)
        The coefficients :math:`\tilde H`.
    objective : float
        The objective at ``value``.
    status : Status
        How the program ended.
    certificate : Certificate
        How far the value is from optimal.
    multipliers : mapping of str to float or array
        The dual solution, by the name of the constraint.
    iterations : int
        The number of steps taken.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 200))
    >>> model = jd.JointDistribution(positivity="tightened", random_state=0)
    >>> found = model.fit(x[:, None], x + noise).solution_
    >>> found.status.name, bool(found.certificate.gap < 1e-6)
    ('OPTIMAL', True)
    """

    value: NDArray[np.float64]
    objective: float
    status: Status = Status.OPTIMAL
    certificate: Certificate = Certificate()
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    iterations: int = 0

    @property
    def sentence(self) -> str:
        """How the program ended, with the remedy."""
        return self.status.value

    def __repr__(self) -> str:
        m_y, m_x = self.value.shape
        return (
            f"Solution({self.status.name}, {m_y} × {m_x} coefficients, "
            f"objective={self.objective:.6g}, gap={self.certificate.gap:.1g}, "
            f"residual={self.certificate.residual:.1g}, iterations={self.iterations})"
        )
