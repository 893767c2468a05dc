"""The name of the machine, as tables of results record it."""

import os
import platform
from functools import cache
from pathlib import Path

from experiments.device import device_name

__all__ = ["machine"]


@cache
def machine() -> str:
    """Return the name of the CPU and its cores, or of the device in use."""
    if device_name():
        return device_name()
    cores = os.cpu_count()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    name = " ".join((names or [platform.machine()])[0].split())
    return f"{name}, {cores} cores"
