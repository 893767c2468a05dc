"""Predict the arrival delay of a flight at its departure: 10,000 flights, four questions.

Run ``make demo``, or ``python examples/demo.py`` where the package is installed with its
extra ``plot``. Writes ``demo.png``.
"""

from time import perf_counter

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

import jointdist as jd

KNOWN = ("dep_delay", "hour", "distance", "origin")
DELAYS = (-5.0, 20.0, 60.0, 120.0)
TRAIN, TEST = slice(0, 8000), slice(8000, None)
mpl.use("Agg")
console = Console()


def main() -> None:
    """Fit a model, answer four questions, and draw a figure."""
    flights = jd.datasets.load_flights()
    X = np.stack([flights[name].astype(object) for name in KNOWN], axis=1)
    Y = flights["arr_delay"]

    start = perf_counter()
    model = jd.JointDistribution(random_state=0).fit(X[TRAIN], Y[TRAIN])
    console.print(
        f"\n[bold]The joint distribution of {len(Y[TRAIN]):,} flights out of New York "
        f"City[/bold], fitted in {perf_counter() - start:.1f} s\n"
        f"X: {', '.join(KNOWN)} (known at departure). Y: arr_delay, in minutes.\n"
        f"Cross-validation compared {len(model.selection_.candidates)} pairs of kernels with 19 "
        f"ridges each. Ranks: {model.basis_x_.rank} for X, {model.basis_y_.rank} for Y.\n"
    )
    dist = model.given(x=[[delay, 18.0, 2475.0, "JFK"] for delay in DELAYS])
    how_late(dist)
    why(model, flights["hour"][TRAIN])
    console.print("\n[bold]3. How strongly does the arrival depend on X?[/bold]")
    console.print(str(model.dependence()).capitalize() + ".")
    how_good(model, X[TEST], Y[TEST])
    draw(dist)


def how_late(dist: jd.Conditional) -> None:
    """Predict the arrival of a flight that leaves early, late, or very late."""
    console.print("[bold]1. How late will it arrive?[/bold] JFK to Los Angeles, 6 pm")
    table = Table("leaves", "mean", "90 % interval", "more than 30 min late")
    late = dist.prob(lambda y: y > 30)
    rows = zip(DELAYS, dist.mean(), dist.interval(0.9), late, strict=True)
    for delay, mean, (low, high), probability in rows:
        table.add_row(
            left(delay), f"{mean:.0f} min", f"{low:.0f} to {high:.0f}", f"{probability:.0%}"
        )
    console.print(table)


def why(model: jd.JointDistribution, hours: np.ndarray) -> None:
    """Condition the same model on Y: the distribution of X, given an arrival an hour late."""
    console.print("\n[bold]2. It arrived an hour late. Why?[/bold] The same model, given Y")
    dist = model.given(y=[60.0])
    late = dist.prob(lambda x: x[:, 0].astype(float) > 30)[0]
    evening = dist.prob(lambda x: x[:, 1].astype(float) >= 17)[0]
    console.print(
        f"Left more than 30 minutes late: {late:.0%}. After 5 pm: {evening:.0%} "
        f"(of all flights: {np.mean(hours >= 17):.0%})."
    )


def how_good(model: jd.JointDistribution, X: np.ndarray, Y: np.ndarray) -> None:
    """Compare predictions with observed outcomes of held-out flights."""
    console.print(f"\n[bold]4. How accurate is it?[/bold] {len(Y):,} held-out flights")
    dist = model.given(x=X)
    console.print(
        f"{jd.scores.coverage(dist, Y).mean():.1%} of arrivals fell into their 90 % intervals. "
        f"The CRPS is {model.score(X, Y):.0%} lower than that of the marginal distribution. "
        f"Projection to proper distributions moved {dist[:200].projection().moved.mean():.1%} of "
        f"the weight."
    )


def draw(dist: jd.Conditional) -> None:
    """Draw the predictive distributions of the first question."""
    ax = dist.plot()
    for line, delay in zip(ax.get_lines()[1:], DELAYS, strict=True):
        line.set_label(f"leaves {left(delay)}")
    ax.legend()
    ax.set_xlim(-90, 200)
    ax.set_xlabel("arrival delay, minutes")
    ax.set_title("New York JFK to Los Angeles, 6 pm")
    ax.figure.savefig("demo.png", dpi=120)
    console.print("\nWritten: demo.png, the four distributions of the first question.")


def left(delay: float) -> str:
    """Describe a departure delay."""
    return f"{abs(delay):.0f} min {'late' if delay > 0 else 'early'}"


if __name__ == "__main__":
    main()
