"""Answers as frames of pandas or polars, with the names of columns and the index asked."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist.data.events import names_of
from jointdist.data.frames import series_of, to_frame
from jointdist.distributions.choice import Chosen
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import in_host_memory
from jointdist.distributions.tabulation import frame_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FramedConditional", "as_frame"]

_COLUMNS = ("mean", "var", "std", "median", "mode")  # a value for each column
_NUMBERS = ("mass", "prob", "negative_share", "effective_size", "novelty")
_HEIGHTS = ("cdf", "pdf", "logpdf")  # a number if points are paired with distributions


class FramedConditional(Conditional):
    """Conditional distributions whose answers are frames, as ``set_output`` asks for.

    Answers with one number for each distribution are Series, those with a number for each
    column, level or end of an interval DataFrames. All others are arrays.

    Parameters
    ----------
    parts : Chosen
        What answers the questions, and the labels of the conditions.
    library : {"pandas", "polars"}
        The library.
    """

    def __init__(self, parts: Chosen, library: str) -> None:
        super().__init__(*parts)
        self._library = library

    def __getitem__(self, index: Any) -> "FramedConditional":
        """Return the chosen distributions, or those of the columns of given names."""
        return FramedConditional(in_host_memory(self)[index].parts, self._library)

    def quantile(self, levels: ArrayLike) -> Any:
        """Return quantiles, with a column for each level, as :meth:`Conditional.to_frame`.

        Parameters
        ----------
        levels : float or array of shape (l,)
            Levels between zero and one.
        """
        found = in_host_memory(self).quantile(levels)
        if np.ndim(levels) == 0:
            return self._framed(found, f"q{np.asarray(levels).item():g}")
        return self._several(found, [f"q{level:g}" for level in np.asarray(levels)])

    def interval(self, level: float = 0.9) -> Any:
        """Return the ends of central intervals, in columns ``lower`` and ``upper``.

        Parameters
        ----------
        level : float, default=0.9
            The probability inside.
        """
        found = in_host_memory(self).interval(level)
        return self._several(found, ["lower", "upper"])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the densities or probabilities, as :meth:`Conditional.plot` does.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        """
        return in_host_memory(self).plot(ax)

    def to_frame(self, levels: ArrayLike = (0.05, 0.5, 0.95)) -> Any:
        """Return a summary as a DataFrame, as :meth:`Conditional.to_frame` does.

        Parameters
        ----------
        levels : array of shape (l,)
            The levels of the quantiles.
        """
        return frame_of(in_host_memory(self), levels, self._library)

    def __repr__(self) -> str:
        return repr(in_host_memory(self))

    def _framed(self, values: NDArray[Any], what: str) -> Any:
        """Return a value for each distribution, or for each of its columns."""
        names = names_of(self.encoding, self._dists.side)
        return as_frame(values, names, self._index, self._library, what)

    def _several(self, values: NDArray[Any], titles: list[str]) -> Any:
        """Return several values for each distribution ``(q, l)``, or column ``(q, l, d)``."""
        names = names_of(self.encoding, self._dists.side)
        results = {title: values[:, i] for i, title in enumerate(titles)}
        return to_frame(results, names, index=self._index, library=self._library)


def as_frame(
    values: NDArray[Any], names: tuple[str, ...], index: Any, library: str, what: str = ""
) -> Any:
    """Return values as a Series, or as a DataFrame if there are several for each row.

    Parameters
    ----------
    values : array of shape (q,) or (q, d)
        The values.
    names : tuple of str
        The names of the d columns.
    index : index of pandas or None
        The labels of the rows.
    library : {"pandas", "polars"}
        The library.
    what : str, default=""
        What the values are, if not those of the columns themselves: the name of a Series, and
        put behind the names of columns.
    """
    if values.ndim == 1:
        return series_of(values, what or names[0], index=index, library=library)
    return to_frame({what: values}, names, index=index, library=library)


def _answered(name: str) -> Callable[..., Any]:
    """Return the method of that name with its answer as a frame."""
    method = getattr(Conditional, name)
    own = "" if name in {"mean", "median", "mode"} else name

    @wraps(method)
    def in_frame(self: FramedConditional, *args: Any, **kwargs: Any) -> Any:
        found = method(in_host_memory(self), *args, **kwargs)
        if name in _HEIGHTS and found.ndim > 1:
            return found
        return self._framed(found, own)

    return in_frame


for _name in (*_COLUMNS, *_NUMBERS, *_HEIGHTS):
    setattr(FramedConditional, _name, _answered(_name))
