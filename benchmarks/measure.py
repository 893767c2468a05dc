"""Measurements of benchmarks: time, memory, and the speed of the machine in the same run."""

import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

console = Console(width=125)


def seconds(f: Callable[[], object], repeat: int = 3) -> tuple[float, object]:
    """Return the median time of a call, and its last result."""
    times = []
    for _ in range(repeat):
        start = perf_counter()
        result = f()
        times.append(perf_counter() - start)
    return median(times), result


def gemm_rate() -> float:
    """Return the flops a second of a large matrix product on all cores."""
    A = np.random.default_rng(0).standard_normal((4096, 4096))
    A @ A
    return 2 * 4096**3 / min(seconds(lambda: A @ A, 1)[0] for _ in range(5))


def anonymous_memory() -> int:
    """Return the bytes of this process that are not backed by a file (Linux)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("RssAnon:")[2].split()[0])


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """Yield a list that will hold the peak of memory above the start, in bytes."""
    start, peak, done = anonymous_memory(), [0], threading.Event()

    def watch():
        while not done.wait(0.005):
            peak[0] = max(peak[0], anonymous_memory() - start)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def heading(extra: str = "") -> None:
    """Print the date, the machine and the versions."""
    console.print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}{extra}"
    )


def table(title: str, *heads: str, left: int = 1) -> Table:
    """Return an empty table; the first columns are text, the others numbers."""
    rows = Table(title=title, title_justify="left")
    for i, head in enumerate(heads):
        rows.add_column(head, justify="left" if i < left else "right")
    return rows
