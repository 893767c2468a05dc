"""Phases of a long computation, shown by the share of the time that each usually takes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from jointdist.data.executor import progress

__all__ = ["Begin", "phases", "silent"]

Begin: TypeAlias = Callable[[str], None]  # called with the name of the phase that begins


def silent(_name: str) -> None:
    """Show nothing."""


@contextmanager
def phases(title: str, shares: Mapping[str, float], *, verbose: int) -> Iterator[Begin]:
    """Provide a function that is called with the name of each phase when it begins.

    Phases that come again do not move a bar back.

    Parameters
    ----------
    title : str
        The name of the computation.
    shares : mapping from str to float
        The phases in their usual order, with the time that each takes, in any unit.
    verbose : int
        Whether to show a bar.

    Examples
    --------
    >>> from jointdist.data.phases import phases
    >>> with phases("Fit", {"kernels": 3, "residuals": 1}, verbose=0) as begin:
    ...     begin("kernels")
    ...     begin("residuals")
    """
    total, before, starts = sum(shares.values()), 0.0, {}
    for name, share in shares.items():
        starts[name], before = before / total, before + share
    reached = [0.0]
    with progress(title, verbose=verbose) as tell:

        def begin(name: str) -> None:
            reached[0] = max(reached[0], starts[name])
            tell(reached[0], name)

        yield begin
