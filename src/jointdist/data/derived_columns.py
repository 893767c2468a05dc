"""Columns that are made of others: indicators of missing entries, and the calendar."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector
from jointdist.data.time_zones import on_clock

__all__ = ["CalendarCycle", "MissingIndicator", "calendar_cycles"]

_DAY = 86_400.0
_YEAR = 365.2425 * _DAY  # of the Gregorian calendar, on average
_PERIODS = {"time of day": _DAY, "day of week": 7 * _DAY, "day of year": _YEAR}


@dataclass(frozen=True, slots=True)
class MissingIndicator:
    """One where an entry of a column is missing, else zero.

    Attributes
    ----------
    column : int
        The column.
    """

    column: int

    @property
    def width(self) -> int:
        """The number of columns that it makes: one."""
        return 1

    def at(self, codes: Vector) -> Vector:
        """Return the indicator of rows, ``(n, 1)``.

        Parameters
        ----------
        codes : array of shape (n,)
            The column, NaN where missing.
        """
        return np.isnan(codes)[:, None].astype(np.float64)


@dataclass(frozen=True, slots=True)
class CalendarCycle:
    """The place of a time in a period of the calendar, on a circle.

    Attributes
    ----------
    column : int
        The column of times.
    cycle : str
        The period: ``"time of day"``, ``"day of week"`` or ``"day of year"``.
    zone : str, optional
        The time zone on whose clock the place is read; None if times have none.
    """

    column: int
    cycle: str
    zone: str | None = None

    @property
    def width(self) -> int:
        """The number of columns that it makes: two."""
        return 2

    def at(self, codes: Vector) -> Vector:
        """Return cosine and sine of the place in the period, ``(n, 2)``; zeros if missing.

        Parameters
        ----------
        codes : array of shape (n,)
            Seconds since 1970, NaN where missing.
        """
        angle = 2 * np.pi * np.mod(on_clock(codes, self.zone) / _PERIODS[self.cycle], 1.0)
        found = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.where(np.isnan(found), 0.0, found)


def calendar_cycles(
    column: int, codes: Vector, zone: str | None = None
) -> list[CalendarCycle]:
    """Return the periods of the calendar that times of a column vary over.

    The time of day and the day of the week, if they are not always the same; the day of the
    year if times are more than a year apart, since else the time itself tells it.

    Parameters
    ----------
    column : int
        The column.
    codes : array of shape (n,)
        Seconds since 1970, NaN where missing.
    zone : str, optional
        Their time zone.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.derived_columns import calendar_cycles
    >>> daily = 86_400.0 * np.arange(30.0)
    >>> [cycle.cycle for cycle in calendar_cycles(0, daily)]
    ['day of week']
    """
    seen = on_clock(codes[~np.isnan(codes)], zone)
    if not len(seen):
        return []
    day, week = np.mod(seen, _DAY), np.floor(np.mod(seen, 7 * _DAY) / _DAY)
    vary = {
        "time of day": bool((day != day[0]).any()),
        "day of week": bool((week != week[0]).any()),
        "day of year": bool(np.ptp(seen) > _YEAR),
    }
    return [CalendarCycle(column, cycle, zone) for cycle, varies in vary.items() if varies]
