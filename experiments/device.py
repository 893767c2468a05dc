"""Where arrays live: in memory, or on a device of PyTorch that an option names."""

import os
from functools import cache
from typing import Any

__all__ = ["VARIABLE", "device_name", "to_device"]

VARIABLE = "JOINTDIST_DEVICE"  # of the environment, which processes of a pool share


def to_device(array: Any) -> Any:
    """Return an array where fits and queries are to be computed."""
    place = os.environ.get(VARIABLE, "")
    if not place:
        return array
    import torch  # noqa: PLC0415  # not a dependency

    return torch.as_tensor(array, device=place)


@cache
def device_name() -> str:
    """Return the name of the device; empty if that is the processor."""
    place = os.environ.get(VARIABLE, "")
    if not place.startswith("cuda"):
        return ""
    import torch  # noqa: PLC0415

    return str(torch.cuda.get_device_name(place))
