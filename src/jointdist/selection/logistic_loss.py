"""Losses of class probabilities, by which logistic regressions are compared."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from jointdist._array import Index, Vector
from jointdist._rules import Text, require

__all__ = ["Loss", "log_probabilities", "loss_of", "probabilities", "scores_of"]

Loss: TypeAlias = Callable[[Vector, Index], ArrayLike]

_LEAST = 1e-12  # of probabilities, by Eq. `eq:logisticloss` of the paper, which clips them


def probabilities(f: Vector) -> Vector:
    """Return the probabilities of all classes, of shape (q, K).

    Parameters
    ----------
    f : array of shape (q, 1) or (q, K)
        The scores, before the logistic or softmax function; for two classes those of the
        second.
    """
    two = f.shape[1] == 1
    p: Vector = expit(np.hstack([-f, f])) if two else softmax(f, axis=1)
    return p


def scores_of(p: Vector) -> Vector:
    """Return scores with given probabilities, (q, 1) for two classes, else (q, K).

    Parameters
    ----------
    p : array of shape (q, K)
        The probabilities.
    """
    logs = np.log(np.maximum(p, np.finfo(np.float64).tiny))
    found: Vector = logs[:, 1:] - logs[:, :1] if p.shape[1] == 2 else logs
    return found


def log_probabilities(f: Vector) -> Vector:
    """Return the logarithms of :func:`probabilities`, which do not underflow.

    Parameters
    ----------
    f : array of shape (q, 1) or (q, K)
        The scores.
    """
    two = f.shape[1] == 1
    p: Vector = log_expit(np.hstack([-f, f])) if two else log_softmax(f, axis=1)
    return p


def loss_of(where: str, criterion: object, classes: NDArray[Any]) -> Loss:
    """Return the loss of a criterion, a function of probabilities and codes of classes.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    criterion : str or callable
        A name, or a function of probabilities and labels.
    classes : array of shape (K,)
        The labels.
    """
    if callable(criterion):
        return lambda p, y: _checked(where, criterion(p, classes[y]), len(y))
    losses: dict[object, Loss] = {
        "log_score": _log_loss,
        "energy": _half_brier,
        "energy_score": _half_brier,
    }
    rule = f"of a criterion among {list(losses)}, or a function of probabilities and labels"
    require(criterion in losses, where, "selection", rule, criterion)
    return losses[criterion]


def _log_loss(p: Vector, y: Index) -> Vector:
    """Return the log losses, clipped as in Eq. `eq:logisticloss` of the paper."""
    losses: Vector = -np.log(np.maximum(p[np.arange(len(y)), y], _LEAST))
    return losses


def _half_brier(p: Vector, y: Index) -> Vector:
    """Return half the Brier scores, which are the energy scores of labels."""
    scores: Vector = (1 + np.sum(p * p, axis=1)) / 2 - p[np.arange(len(y)), y]
    return scores


def _checked(where: str, losses: object, q: int) -> NDArray[Any]:
    found = np.asarray(losses)
    good = found.dtype.kind in "fiub" and found.shape in ((), (q,))
    rule = f"a function that returns a number, or one for each of {q} rows"
    require(good, where, "criterion", rule, Text(f"{found.dtype} of shape {found.shape}"))
    return found
