"""The device of arrays: main memory, or a PyTorch device that an option names."""

import os
from functools import cache
from typing import Any

from experiments.refusal import RefusalError

__all__ = ["VARIABLE", "device_name", "require_device", "to_device"]

VARIABLE = "JOINTDIST_DEVICE"  # environment variable, inherited by the worker processes


def require_device(place: str) -> None:
    """Raise unless PyTorch has the device and supports double precision on it.

    Parameters
    ----------
    place : str
        The name of the device.
    """
    try:
        import torch  # noqa: PLC0415  # not a dependency
    except ModuleNotFoundError as error:
        msg = f"needs PyTorch, which is not installed. Got {place!r}."
        raise RefusalError(msg) from error
    try:
        torch.zeros(1, dtype=torch.float64, device=place).tolist()
    except (AssertionError, ImportError, RuntimeError, TypeError) as error:
        why = str(error).partition(". ")[0].partition("\n")[0]  # the first sentence
        msg = f"must be a device that PyTorch has, such as cuda. Got {place!r}: {why}."
        raise RefusalError(msg) from error


def to_device(array: Any) -> Any:
    """Return an array on the device on which models are fitted and queried."""
    place = os.environ.get(VARIABLE, "")
    if not place:
        return array
    import torch  # noqa: PLC0415  # not a dependency

    return torch.as_tensor(array, device=place)


@cache
def device_name() -> str:
    """Return the name of the device; empty for the CPU."""
    place = os.environ.get(VARIABLE, "")
    if not place.startswith("cuda"):
        return ""
    import torch  # noqa: PLC0415

    return str(torch.cuda.get_device_name(place))
