"""Small fits of all estimators, with questions whose answers tell fitted models apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import jointdist as jd
from jointdist.kernels import Delta, Gaussian

KERNELS = Gaussian(1.0).on(0) * Delta().on(1), Gaussian(0.5)
GIVEN = {"random_state": 0, "verbose": 0}
RIDGE = {"regularization": 1e-3, **GIVEN}


def table(n, seed, names, letters):
    """Return rows with two columns of numbers or more, one of letters, and outcomes."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=n) for name in names}
    first = next(iter(columns.values()))
    y = np.sin(first) + 0.3 * rng.normal(size=n)
    if letters:
        codes = rng.integers(0, len(letters), size=n)
        columns = {names[0]: first, "letter": np.array(list(letters))[codes]} | columns
        y = y + codes
    return pd.DataFrame(columns), y


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator that is not fitted, rows for two fits, and questions."""

    estimator: Any
    letters: tuple[str, str] = ("ab", "bc")
    cut: bool = False  # whether outcomes become labels
    n: int = 60

    def rows(self, which: int, n: int | None = None):
        """Return the rows of the first fit, or others: names, width and letters differ."""
        names = (["u"], ["v", "w"])[which]
        X, y = table(n or self.n, which, names, self.letters[which])
        return X, np.array(["low", "high"])[
            (y > np.median(y)).astype(int)
        ] if self.cut else y

    def fitted(self, which: int = 0) -> Any:
        """Return the estimator, fitted to the first rows or the others."""
        return clone(self.estimator).fit(*self.rows(which))

    def answers(self, model: Any, which: int = 0) -> list[Any]:
        """Return answers of all kinds about the first rows or the others."""
        X, y = self.rows(which, 12)
        found = [model.predict(X), model.score(X, y)]
        if hasattr(model, "predict_proba"):
            found.append(model.predict_proba(X))
        elif hasattr(model, "given"):
            dist = model.given(X)
            found += [dist.mean(), dist.quantile([0.2, 0.8]), dist.cdf(y)]
        return [np.asarray(each) for each in found]


def same(a: list[Any], b: list[Any]) -> bool:
    """Tell whether answers are equal to the bit."""
    return len(a) == len(b) and all(
        np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
        for x, y in zip(a, b, strict=True)
    )


def updated(case: Case) -> dict[str, Callable[[Any], object]]:
    """Return what changes a fitted model, by name."""
    changes = {"fit": lambda model: model.fit(*case.rows(1))}
    if hasattr(case.estimator, "partial_fit"):
        X, y = case.rows(0)
        changes["partial_fit"] = lambda model: model.partial_fit(X[:20], y[:20])
        changes["forget"] = lambda model: model.forget(X[:20], y[:20])
    return changes


CASES = {
    "joint": Case(jd.JointDistribution(*KERNELS, **RIDGE)),
    "default": Case(jd.JointDistribution(**GIVEN)),
    "polynomial": Case(jd.PolynomialJointDistribution(2, **RIDGE), letters=("", "")),
    "embedding": Case(jd.ConditionalMeanEmbedding(*KERNELS, **RIDGE)),
    "full": Case(jd.ConditionalMeanEmbedding(*KERNELS, low_rank=False, **RIDGE)),
    "classifier": Case(jd.JointClassifier(KERNELS[0], **RIDGE), cut=True),
    "logistic": Case(jd.KernelLogisticRegression(KERNELS[0], **RIDGE), cut=True),
    "kernel": Case(
        jd.DistributionRegressor(
            "kernel",
            distribution=jd.JointDistribution(Gaussian(1.0), Gaussian(0.5), **RIDGE),
            **GIVEN,
        )
    ),
    "auto": Case(jd.DistributionRegressor(**GIVEN)),
    "conformal": Case(
        jd.ConformalCalibration(jd.JointDistribution(*KERNELS, **RIDGE), random_state=0)
    ),
}
