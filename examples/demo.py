"""What a low-rank factor keeps of 10,000 flights, and what it loses.

Run ``make demo``, or ``python examples/demo.py`` where the package is installed.
"""

from time import perf_counter

from rich.console import Console
from rich.table import Table

from jointdist import pivoted_cholesky
from jointdist.datasets import load_flights
from jointdist.kernels import Delta, Gaussian

RULES = {"auto": "auto (rp)", "greedy": "greedy (paper)", "random": "random (Nyström)"}
NUMBERS, WORDS = ("dep_delay", "distance", "hour"), ("origin",)


def main() -> None:
    """Factor the kernel matrix of the flights at three tolerances, by three rules."""
    flights = load_flights()
    X = flights.matrix(*NUMBERS, *WORDS)
    scales = X[:, :3].std(axis=0)
    kernel = Gaussian(scales).on(0, 1, 2) * Delta().on(3)

    console = Console()
    console.print(
        f"[bold]{len(X):,} flights out of New York City in 2013[/bold]\n"
        f"A kernel says how alike two flights are, by {', '.join(NUMBERS)} (numbers) and "
        f"{', '.join(WORDS)} (words). All pairs would be a matrix of "
        f"{8e-6 * len(X) ** 2:,.0f} MB. It is never formed: a few flights, the pivots, stand "
        f"for all others. What is lost is known exactly, over all rows.\n"
    )
    table = Table("pivots chosen")
    for head in ("at most lost", "lost", "pivots", "model size", "time"):
        table.add_column(head, justify="right")
    found = {}
    for rule, words in RULES.items():
        for tol in (1e-1, 1e-2, 1e-3):
            start = perf_counter()
            low = pivoted_cholesky(kernel, X, tol=tol, pivoting=rule, random_state=0)
            seconds = perf_counter() - start
            found[rule] = low
            table.add_row(
                words,
                f"{tol:.1%}",
                f"{low.relative_error:.3%}",
                f"{low.rank:,}",
                f"{8e-6 * low.rank * (low.rank + X.shape[1]):.2f} MB",
                f"{1e3 * seconds:,.0f} ms",
            )
        table.add_section()
    console.print(table)
    auto, greedy = found["auto"], found["greedy"]
    alike = kernel(X[:1], X)[0]
    other = int(abs(alike - 0.5).argmin())
    a, b = auto.features(X[[0, other]])
    console.print(
        f"To lose at most 0.1 %, {auto.rank} pivots are enough, where the paper's rule takes "
        f"{greedy.rank}. Flights 0 and {other} are alike by {alike[other]:.4f}; computed from "
        f"their {auto.rank} features, by {a @ b:.4f}."
    )


if __name__ == "__main__":
    main()
