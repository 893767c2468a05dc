"""What a low-rank factor keeps of 10,000 flights, and what it loses.

Run ``make demo``, or ``python examples/demo.py`` where the package is installed.
"""

from time import perf_counter

from rich.console import Console
from rich.table import Table

from jointdist import pivoted_cholesky
from jointdist.datasets import load_flights
from jointdist.kernels import Delta, Gaussian

NUMBERS, WORDS = ("dep_delay", "distance", "hour"), ("origin",)


def main() -> None:
    """Factor the kernel matrix of the flights at three tolerances, by four rules."""
    flights = load_flights()
    X = flights.matrix(*NUMBERS, *WORDS)
    scales = X[:, :3].std(axis=0)
    kernel = Gaussian(scales).on(0, 1, 2) * Delta().on(3)

    console = Console()
    console.print(
        f"[bold]{len(X):,} flights out of New York City in 2013[/bold]\n"
        f"A kernel compares them by {', '.join(NUMBERS)} (numbers) and {', '.join(WORDS)} "
        f"(words). Its matrix would take {8e-6 * len(X) ** 2:,.0f} MB. It is never formed: "
        f"a few pivot flights stand for all."
    )
    table = Table(
        "pivot rule", "asked for", "pivots", "kept of the trace", "lost", "memory", "time"
    )
    for rule in ("auto", "greedy", "random"):
        for tol in (1e-1, 1e-2, 1e-3):
            start = perf_counter()
            low = pivoted_cholesky(kernel, X, tol=tol, pivoting=rule, random_state=0)
            seconds = perf_counter() - start
            table.add_row(
                rule,
                f"{1 - tol:.1%}",
                f"{low.rank:,}",
                f"{1 - low.relative_error:.3%}",
                f"{low.relative_error:.3%}",
                f"{8e-6 * low.rank * (low.rank + X.shape[1]):.2f} MB",
                f"{1e3 * seconds:,.0f} ms",
            )
        table.add_section()
    console.print(table)

    words = ", ".join(
        f"{name} {value:g}" for name, value in zip(NUMBERS, low.landmarks[0], strict=False)
    )
    console.print(
        f"The first pivot of the last factor: {words}. The error is exact, over all rows."
    )


if __name__ == "__main__":
    main()
