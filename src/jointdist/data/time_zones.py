"""Time zones: the clock of a place at moments in time."""

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from jointdist._array import Vector
from jointdist._rules import Text, require

__all__ = ["on_clock", "require_zone"]

# Clocks are changed at quarters of an hour, so that one offset is looked up for each.
_QUARTER = 900.0
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)(?::\d\d)?$")


def on_clock(seconds: Vector, zone: str | None) -> Vector:
    """Return moments, in seconds since 1970, as the clock of a time zone shows them.

    Parameters
    ----------
    seconds : array of shape (n,)
        The moments, in UTC; NaN where missing.
    zone : str, optional
        The time zone; without one, moments are on the clock already.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.time_zones import on_clock
    >>> on_clock(np.array([0.0]), "Europe/Zurich") / 3600
    array([1.])
    """
    if zone is None:
        return seconds
    there = _zone(zone)
    quarters, which = np.unique(np.floor(seconds / _QUARTER), return_inverse=True)
    offsets = np.full(len(quarters), np.nan)
    for i, quarter in enumerate(quarters.tolist()):
        if quarter == quarter:  # noqa: PLR0124  # not NaN
            moment = datetime(1970, 1, 1, tzinfo=timezone.utc)  # noqa: UP017
            moment += timedelta(seconds=quarter * _QUARTER)
            offset = moment.astimezone(there).utcoffset()
            offsets[i] = 0.0 if offset is None else offset.total_seconds()
    found: Vector = seconds + offsets[which.ravel()]
    return found


def require_zone(zone: str | None, where: str, name: str) -> None:
    """Raise unless a time zone is known.

    Parameters
    ----------
    zone : str, optional
        The time zone.
    where, name : str
        The caller and its argument, for messages.
    """
    if zone is None:
        return
    try:
        _zone(zone)
    except (ValueError, ZoneInfoNotFoundError):
        rule = "of times in a known time zone, as Europe/Zurich or +01:00"
        require(False, where, name, rule, Text(zone))


def _zone(name: str) -> tzinfo:
    """Return a time zone by its name, or by its offset from UTC."""
    match = _OFFSET.fullmatch(name)
    if match is None:
        return ZoneInfo(name)
    sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(offset if sign == "+" else -offset)
