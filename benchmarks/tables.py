"""Tables with categories and missing entries: accuracy and cost beside the obvious alternative.

*Irrelevant*: one strong number beside k columns of six random categories; the skill on new
rows over that without them. *Relevant*: one column among fifty that matters. *Many*: the RMSE
with thousands of categories over that of the best shrunken group means, chosen on the test
rows. *Missing*: the CRPS with a fifth of the entries of X missing at random over that of the same
estimator behind ``SimpleImputer(add_indicator=True)``, and of that fitted to complete rows alone
(which is asked at imputed rows). *Flights*: 200,000 of them with and without origin,
destination and tail number.

UCI sets and flights are read from a folder ``shared`` beside the checkout, or from the folder
that JOINTDIST_SHARED names. Each part runs by itself: ``python benchmarks/tables.py missing``.
"""

import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from measure import console, heading
from sklearn.impute import SimpleImputer

import jointdist as jd

SHARED = Path(os.environ.get("JOINTDIST_SHARED") or Path(__file__).parents[2] / "shared")
MODELS = {"J": jd.JointDistribution, "D": jd.DistributionRegressor}
SETS = ("bostonHousing", "wine-quality-red", "yacht")  # concrete and energy were looked at
SEEDS, SPLITS, SHARE = 5, 5, 0.2
NUMBERS = ["dep_delay", "hour", "distance", "month", "day"]
LABELS = ["origin", "dest", "tailnum"]


def model(kind: str) -> jd.JointDistribution | jd.DistributionRegressor:
    """Return an estimator with default arguments."""
    return MODELS[kind](random_state=0, verbose=0)


def lettered(
    columns: int, seed: int, relevant: int | None = None
) -> tuple[pd.DataFrame, ...]:
    """Return a strong number beside columns of six categories, for a fit and for a test."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=4000)
    y = np.sin(2 * x) + 0.5 * x + 0.3 * rng.normal(size=4000)
    codes = rng.integers(6, size=(4000, columns))
    if relevant is not None:
        y += 0.4 * (codes[:, relevant] - 2.5)
    letters = np.array(list("abcdef"))[codes]
    X = pd.DataFrame({"x": x} | {f"c{j}": letters[:, j] for j in range(columns)})
    return X[:2000], y[:2000], X[2000:], y[2000:]


def irrelevant() -> None:
    """Print skills with more and more columns that say nothing."""
    heading("Irrelevant categorical columns: skill, and its share of that without them")
    for kind in MODELS:
        base = 0.0
        for k in (0, 5, 20):
            tables = [lettered(k, seed) for seed in range(SEEDS)]
            skills = [model(kind).fit(X, y).score(*new) for X, y, *new in tables]
            base = base or float(np.mean(skills))
            console.print(
                f"{kind} k={k:2}: {np.mean(skills):.4f}  {np.mean(skills) / base:.3f}"
            )


def relevant() -> None:
    """Print the skill with one relevant column of fifty, and without the others."""
    heading("One relevant column among fifty: skill, and that with it alone")
    for kind in MODELS:
        X, y, X2, y2 = lettered(50, 0, relevant=3)
        few = ["x", "c3"]
        every, alone = model(kind).fit(X, y), model(kind).fit(X[few], y)
        found = every.score(X2, y2), alone.score(X2[few], y2)
        console.print(f"{kind}: {found[0]:.4f}  {found[1]:.4f}")


def many() -> None:
    """Print the error with 5,000 categories beside that of the best shrunken means."""
    heading("5,000 categories, 20,000 rows: RMSE over that of the best shrunken means")
    for kind in MODELS:
        code = f"import tables; tables.one_of_many({kind!r})"
        _alone(code)


def one_of_many(kind: str, categories: int = 5000, n: int = 20_000) -> None:
    """Print it for one estimator, in a process of its own, with its memory."""
    rng = np.random.default_rng(0)
    code, effect = rng.integers(categories, size=2 * n), rng.normal(size=categories)
    y = effect[code] + 0.5 * rng.normal(size=2 * n)
    X = pd.DataFrame({"id": [f"k{c:05}" for c in code]})
    before, start = _memory(), time.perf_counter()
    fit = model(kind).fit(X[:n], y[:n])
    cost = f"{time.perf_counter() - start:.0f} s, {_memory() - before:.0f} MB"
    warnings.simplefilter("ignore", jd.UnseenCategoryWarning)
    error = _rmse(fit.predict(X[n:]), y[n:])
    count = np.bincount(code[:n], minlength=categories)
    total, mean = np.bincount(code[:n], y[:n], minlength=categories), y[:n].mean()
    best = min(
        _rmse(((total + k * mean) / (count + k))[code[n:]], y[n:])
        for k in np.arange(0.05, 3, 0.05)
    )
    console.print(f"{kind}: {error / best:.4f} ({error:.4f} over {best:.4f}; {cost})")


def missing() -> None:
    """Print CRPS with missing entries, beside imputation and complete rows."""
    heading(
        "A fifth of the entries missing: CRPS, over that of imputation, of complete rows"
    )
    for name in SETS:
        file = SHARED / "data" / "uci" / name / "data.txt.gz"
        if not file.exists():
            console.print(f"{name}: skipped, data/uci is missing (see JOINTDIST_SHARED)")
            continue
        for kind in MODELS:
            found = np.array(list(_splits(np.loadtxt(file), kind)))
            own, imputed, complete = found.mean(axis=0)
            console.print(
                f"{kind} {name}: {own:.4f}  {own / imputed:.3f}  {own / complete:.3f}"
            )


def _splits(data: np.ndarray, kind: str) -> list[tuple[float, float, float]]:
    """Return the CRPS of a model, of imputation, and of a fit to complete rows, by split."""
    rs, found = np.random.RandomState(1), []
    warnings.simplefilter("ignore", jd.OutOfDistributionWarning)
    for _ in range(SPLITS):
        order = rs.choice(range(len(data)), len(data), replace=False)
        X, y = data[order, :-1].copy(), data[order, -1]
        X[rs.random_sample(X.shape) < SHARE] = np.nan
        n = round(0.9 * len(data))
        impute = SimpleImputer(add_indicator=True).fit(X[:n])
        whole = ~np.isnan(X[:n]).any(axis=1)
        plain = SimpleImputer().fit(X[:n])

        def crps(fit: object, rows: np.ndarray, y: np.ndarray = y[n:]) -> float:
            return float(np.mean(jd.scores.crps(fit.given(rows), y)))

        own = crps(model(kind).fit(X[:n], y[:n]), X[n:])
        other = model(kind).fit(impute.transform(X[:n]), y[:n])
        few = model(kind).fit(X[:n][whole], y[:n][whole])
        found.append(
            (own, crps(other, impute.transform(X[n:])), crps(few, plain.transform(X[n:])))
        )
    return found


def flights() -> None:
    """Print cost and CRPS of 200,000 flights with and without labels."""
    heading("200,000 flights: with origin, destination and tail number, over without")
    for kind in MODELS:
        for labels in (False, True):
            code = f"import tables; tables.some_flights({kind!r}, {labels})"
            _alone(code)


def some_flights(kind: str, labels: bool) -> None:
    """Print the cost of one fit, in a process of its own, and its CRPS."""
    file = SHARED / "data" / "flights" / "nycflights13_flights.parquet"
    if not file.exists():
        console.print("skipped, data/flights is missing (see JOINTDIST_SHARED)")
        return
    data = pd.read_parquet(file).dropna(subset=["arr_delay", "dep_delay", "tailnum"])
    data = data.sample(frac=1, random_state=0)
    fit, new = data[:200_000], data[200_000:205_000]
    columns = NUMBERS + LABELS * labels
    before, start, cpu = _memory(), time.perf_counter(), time.process_time()
    found = model(kind).fit(fit[columns], fit["arr_delay"])
    cost = f"{time.perf_counter() - start:.1f} s, {time.process_time() - cpu:.1f} CPU s"
    cost += f", {_memory() - before:.0f} MB"
    warnings.simplefilter("ignore")
    crps = jd.scores.crps(found.given(new[columns]), new["arr_delay"])
    error = crps.std() / np.sqrt(len(crps))
    what = "with" if labels else "without"
    console.print(f"{kind} {what}: {cost}, CRPS {crps.mean():.4f} ± {error:.4f}")


def _alone(code: str) -> None:
    """Run code in a process of its own, so that its memory is its own."""
    here = Path(__file__).parent
    subprocess.run([sys.executable, "-c", code], check=True, cwd=here)  # noqa: S603


def _rmse(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(np.mean((a - b) ** 2)))


def _memory() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


PARTS = {part.__name__: part for part in (irrelevant, relevant, many, missing, flights)}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
