"""A progress bar, shown on terminals and in notebooks only, that vanishes when done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["Tell", "progress"]

Tell: TypeAlias = Callable[[float, str], None]

_PATIENCE = 1.0  # seconds before a bar appears: short work needs none


@contextmanager
def progress(
    title: str, *, verbose: int, console: Console | None = None, patience: float = _PATIENCE
) -> Iterator[Tell]:
    """Provide a function that takes the share of the work that is done and a short text.

    Nothing is shown in the first second, nor if ``verbose`` is zero or the standard error
    is not a terminal.

    Parameters
    ----------
    title : str
        The name of the work.
    verbose : int
        Whether to show a bar.
    console : Console, optional
        Where to draw; by default the standard error.
    patience : float, default=1.0
        The seconds before anything is shown.
    """
    console = console or Console(stderr=True)
    if not verbose or not (console.is_terminal or console.is_jupyter):
        yield lambda share, text: None  # noqa: ARG005
        return
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, TextColumn("{task.fields[text]}"), console=console)
    bar.live.transient = True
    start = perf_counter()
    task = bar.add_task(title, total=1.0, text="")

    def tell(share: float, text: str) -> None:
        if not bar.live.is_started and perf_counter() - start >= patience:
            bar.start()
        bar.update(task, completed=share, text=text)

    try:
        yield tell
    finally:
        bar.stop()
