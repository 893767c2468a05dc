"""The loss of second moments that the paper reports."""

from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.table import as_rows
from jointdist.distributions.conditional import Conditional
from jointdist.scores.outcomes import distributions_of, outcomes_of

__all__ = ["second_moment_loss"]


def second_moment_loss(dist: Conditional, truth: Any) -> Vector:
    r"""Return the squared errors of second-moment matrices; lower is better.

    :math:`\|E[Y Y^\top] - M\|_F^2 / \|M\|_F^2` with the true :math:`M`. Their mean is
    Eq. `eq:secmomloss`, the relative error of second moments, where the true moments are
    known. If outcomes are given instead, the loss is not a proper score, and it is huge for
    outcomes near zero.

    Parameters
    ----------
    dist : Conditional
        Distributions of numbers; an embedding is not divided by its mass.
    truth : array of shape (q, d, d), (q, d) or (q,)
        The true matrices M, of shape (q, d, d) also if d is one; or outcomes y, for which
        :math:`M = y y^\top`.

    Returns
    -------
    array of shape (q,)
        The losses.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> scores.second_moment_loss(dist, [[[8.0]]]).round(6)  # of a mean of squares of 6
    array([0.0625])
    """
    where = "second_moment_loss"
    width = distributions_of(where, dist).encoding.width
    moments = dist.second_moment().reshape(-1, width, width)
    if np.ndim(truth) == 3:
        true = _matrices(where, truth, moments.shape)
    else:
        y = outcomes_of(where, dist, truth, "truth").points
        true = y[:, :, None] * y[:, None, :]
    size = (true**2).sum(axis=(1, 2))
    got = Text(f"zero at row {size.argmin()}")
    require(size.all(), where, "truth", "other than zero in each row", got)
    found: Vector = ((moments - true) ** 2).sum(axis=(1, 2)) / size
    return found


def _matrices(where: str, truth: Any, shape: tuple[int, ...]) -> Vector:
    """Return true matrices, checked."""
    rule, got = f"of shape {shape}", Text(f"shape {np.shape(truth)}")
    require(np.shape(truth) == shape, where, "truth", rule, got)
    rows = as_rows(np.reshape(truth, (len(truth), -1)), where=where, name="truth")
    found: Vector = to_numpy(rows.read(0, rows.n)).reshape(shape)
    return found
