"""Users are told if many of their questions are out of distribution."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, to_numpy
from jointdist.data.design import Design, Question
from jointdist.distributions.protocols import Conditions
from jointdist.distributions.seen import Seen
from jointdist.errors import OutOfDistributionWarning, warn_user
from jointdist.models.questions import Answering

__all__ = ["warn_if_novel"]

_MOST = 4096  # questions that are looked at in a call: a time budget
_SHARE = 0.05  # of the questions that may be out of distribution without a warning
_ALARMS = 0.005  # the share of calls with a false alarm, at most
_NAMED, _TOLD = 3, 0.005  # columns that are named, and the share of rows from which on


def warn_if_novel(
    where: str, question: Question, conditions: Conditions, fitted: Answering
) -> None:
    """Warn if more than one in twenty questions is out of distribution.

    Parameters
    ----------
    where : str
        The method, for the message.
    question : Question
        The rows of X.
    conditions : Conditions
        The same as conditions of distributions, which know their novelty.
    fitted : Answering
        The model.
    """
    seen, q = fitted.seen, question.rows.n
    if seen is None:
        return
    some: Any = slice(None)
    rows = question.rows
    if q > _MOST:
        some = np.linspace(0, q - 1, _MOST).astype(np.intp)
        rows, conditions = rows.subset(some), conditions.take(some)
    beyond = seen.beyond(to_numpy(rows.read(0, rows.n)))
    novel = np.zeros(rows.n, dtype=bool)
    if question.absent is None:
        novel = seen.novel(conditions.novelty())
    else:
        absent = question.absent[some]
        beyond[:, :, : absent.shape[1]] &= ~absent[:, None, :]
    out = _out(seen, beyond, novel)
    if out.mean() > _SHARE:
        count = f"{out.sum():,}" if q <= _MOST else f"about {int(out.mean() * q):,}"
        why = _columns(fitted.design_x, seen, beyond & out[:, None, None])
        msg = (
            f"{where}: {count} of {q:,} rows of X are out of distribution: {why}. "
            "Distributions there rest on few rows of the fit, or on none. Look at "
            "`dist.diagnostics()`, and fit to rows like these."
        )
        warn_user(msg, OutOfDistributionWarning)


def _out(
    seen: Seen, beyond: NDArray[np.bool_], novel: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the rows beyond an end or a limit that more are beyond than chance allows."""
    q, tests = len(novel), beyond[0].size + 1
    counts: Vector = beyond.sum(axis=0).astype(np.float64)
    ends = seen.chance_beyond(counts, q) * tests < _ALARMS
    out: NDArray[np.bool_] = (beyond & ends).any(axis=(1, 2))
    if novel.any() and seen.chance_novel(int(novel.sum()), q) * tests < _ALARMS:
        out |= novel
    return out


def _columns(design: Design, seen: Seen, beyond: NDArray[np.bool_]) -> str:
    """Return a description of the columns that are farthest out."""
    share, titles = beyond.mean(axis=0), design.shown.titles("x")
    sides = (("below", seen.low), ("above", seen.high))
    found = []
    for place in np.argsort(-share, axis=None, kind="stable")[:_NAMED]:
        side, column = np.unravel_index(place, share.shape)
        if share[side, column] >= _TOLD:
            (word, ends), i = sides[int(side)], int(column)
            end = design.shown.decode_column(i, ends[i : i + 1])[0]
            limit = f"{end:.6g}" if isinstance(end, float) else str(end)
            part = f"{titles[i]} is {word} the range seen ({limit})"
            found.append(f"{part} in {share[side, column]:.0%} of the rows")
    return "; ".join(found) or "no column by itself, but they are far from all rows seen"
