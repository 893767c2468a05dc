"""What can be said of a flight's arrival when it leaves: 10,000 flights, four questions.

Run ``make demo``, or ``python examples/demo.py`` where the package is installed with its
extra ``plot``. Writes ``demo.png``.
"""

from time import perf_counter

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

import jointdist as jd

mpl.use("Agg")
KNOWN = ("dep_delay", "hour", "distance", "origin")


def main() -> None:
    """Fit, ask four questions in words and numbers, and draw a picture."""
    console = Console()
    flights = jd.datasets.load_flights()
    X = np.stack([flights[name].astype(object) for name in KNOWN], axis=1)
    Y = flights["arr_delay"]
    train, test = slice(0, 8000), slice(8000, None)

    start = perf_counter()
    model = jd.JointDistribution(random_state=0).fit(X[train], Y[train])
    seconds = perf_counter() - start
    console.print(
        f"\n[bold]The joint law of {len(Y[train]):,} flights out of New York City[/bold], "
        f"learned in {seconds:.1f} s\n"
        f"X: {', '.join(KNOWN)} (known at departure). Y: arr_delay, in minutes.\n"
        f"{model.basis_x_.rank} landmarks stand for X, {model.basis_y_.rank} for Y.\n"
    )

    console.print("[bold]1. How late will it arrive?[/bold] JFK to Los Angeles, 6 pm")
    delays = (-5.0, 20.0, 60.0, 120.0)
    law = model.given(x=[[delay, 18.0, 2475.0, "JFK"] for delay in delays])
    table = Table("leaves", "mean", "90 % interval", "more than 30 min late")
    late, inside = law.prob(lambda y: y > 30), law.interval(0.9)
    for row in zip(delays, law.mean(), inside, late, strict=True):
        delay, mean, (low, high), chance = row
        table.add_row(
            _left(delay), f"{mean:.0f} min", f"{low:.0f} to {high:.0f}", f"{chance:.0%}"
        )
    console.print(table)

    console.print(
        "\n[bold]2. It arrived an hour late. Why?[/bold] The same model, backwards"
    )
    back = model.given(y=[60.0])
    left_late = back.prob(lambda x: x[:, 0].astype(float) > 30)[0]
    evening = back.prob(lambda x: x[:, 1].astype(float) >= 17)[0]
    before = np.mean(flights["hour"][train] >= 17)
    console.print(
        f"Left more than 30 minutes late: {left_late:.0%}. After 5 pm: {evening:.0%} "
        f"(of all flights: {before:.0%})."
    )

    console.print("\n[bold]3. How much does what is known tell about the arrival?[/bold]")
    console.print(str(model.dependence()).capitalize() + ".")

    console.print("\n[bold]4. Can the answers be trusted?[/bold] 2,000 other flights")
    low, high = model.given(x=X[test]).interval(0.9).T
    hit = np.mean((low <= Y[test]) & (Y[test] <= high))
    negative = model.given(x=X[test][:200]).negative_share().mean()
    console.print(
        f"{hit:.1%} of arrivals fell into their 90 % intervals. The laws are "
        f"{model.score(X[test], Y[test]):.0%} better than the law of all flights (CRPS). "
        f"{negative:.1%} of the weight is negative: laws are signed unless the model is asked "
        f"for positivity."
    )

    ax = law.plot()
    for line, delay in zip(ax.get_lines()[1:], delays, strict=True):
        line.set_label(f"leaves {_left(delay)}")
    ax.legend()
    ax.set_xlim(-90, 200)
    ax.set_xlabel("arrival delay, minutes")
    ax.set_title("New York JFK to Los Angeles, 6 pm")
    ax.figure.savefig("demo.png", dpi=120)
    console.print("\nWritten: demo.png, the four laws of the first question.")


def _left(delay: float) -> str:
    return f"{abs(delay):.0f} min {'late' if delay > 0 else 'early'}"


if __name__ == "__main__":
    main()
