"""Conditional second-moment matrices: the models of the paper, section 5.1, and their scores."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import process_time
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from experiments.device import device_name, to_device
from experiments.protocol import Best, Family, Variant, search
from experiments.store import Row
from jointdist import (
    Conditional,
    ConditionalMeanEmbedding,
    JointDistribution,
    PolynomialJointDistribution,
    scores,
)
from jointdist.errors import SignedDistributionWarning
from jointdist.kernels import Gaussian

__all__ = [
    "RIDGES",
    "SMALL",
    "Data",
    "Held",
    "Scales",
    "cme",
    "compared",
    "jdl",
    "jpdl",
    "scored",
]

RIDGES = tuple((10.0 ** np.arange(-1, -13.1, -1)).tolist())
MOST = 5000  # validation rows, at most
FEW = (1.0, 0.1, 1e-2, 1e-4)  # ridges of costly programs that hardly depend on them
SMALL = (100.0, 10.0, 1.0, 0.1, 1e-2, 1e-3, 0.0)  # ridges of orthonormal polynomials

Scales: TypeAlias = tuple[Sequence[float], Sequence[float]]


class Held(NamedTuple):
    """Rows of X with the true conditional moments there, or with one outcome for each."""

    X: Any
    truth: Any


class Data(NamedTuple):
    """Training, validation and test rows, and the score of conditional distributions."""

    X: Any
    Y: Any
    validation: Held
    test: Held
    score: Callable[[Conditional, Any], Any]

    @classmethod
    def drawn(cls, pair: Any, n: int, tests: int, rng: np.random.Generator) -> Self:
        """Return n rows of a pair, 4/5 for training and 1/5 for validation, and test rows.

        Models are selected on at most 5,000 rows by the second-moment squared loss, Eq.
        `eq:secmomloss`.
        """
        X, Y = pair.draw(n, random_state=rng)
        X_test, _ = pair.draw(tests, random_state=rng)
        k = n * 4 // 5
        held = (Held(Z, pair.second_moments(Z)) for Z in (X[k : k + MOST], X_test))
        return cls(X[:k], Y[:k], *held, scores.second_moment_loss)

    def loss(self, model: Any, held: Held) -> float:
        """Return the mean loss of a model."""
        dists = model.given(to_device(held.X))
        return float(np.mean(self.score(dists, held.truth)))


def jdl(
    scales: Scales,
    names: Sequence[str],
    ridges: Sequence[float] = RIDGES,
    **arguments: Any,
) -> Family:
    """Return joint distributions with free or exact marginals, or the paper's constraints.

    Parameters
    ----------
    scales : pair of sequences of float
        The candidate length scales of X and Y, see :class:`~experiments.protocol.Family`.
    names : sequence of str
        The variants.
    ridges : sequence of float
        The candidate ridges of variants with a closed form.
    **arguments
        Arguments of the estimator.
    """
    variants = {
        "JDL": Variant(ridges, {"marginals": "free", "positivity": "none"}),
        "JDL exact": Variant(ridges, {"marginals": "exact", "positivity": "none"}),
        "JDL tightened": Variant(FEW, {"marginals": "total", "positivity": "tightened"}),
    }
    projected = {"JDL projected": "JDL exact"}
    return _kernel_family(JointDistribution, variants, projected, scales, names, arguments)


def cme(
    scales: Scales,
    names: Sequence[str],
    ridges: Sequence[float] = RIDGES,
    **arguments: Any,
) -> Family:
    """Return conditional mean embeddings, without constraints or with constraints on average.

    Parameters
    ----------
    scales, names, ridges, **arguments
        As for joint distributions.
    """
    average = {"normalization": "average", "positivity": "average"}
    variants = {
        "CME": Variant(ridges, {"positivity": "none"}),
        "CME average": Variant(ridges, average),
    }
    projected = {"CME projected": "CME"}
    return _kernel_family(
        ConditionalMeanEmbedding, variants, projected, scales, names, arguments
    )


def jpdl(names: Sequence[str], ridges: Sequence[float] = SMALL) -> Family:
    """Return polynomial models of degree four, unconstrained or as sums of squares.

    Parameters
    ----------
    names, ridges
        As for joint distributions.
    """
    variants = {
        "JPDL": Variant(ridges, {"positivity": "none"}),
        "JPDL sos": Variant(FEW, {"positivity": "sos"}),
    }

    def make(_: float, __: float) -> PolynomialJointDistribution:
        return PolynomialJointDistribution(4, regularization=1.0, random_state=0)

    own = {name: variants[name] for name in names if name in variants}
    return Family(make, own, projected=_of({"JPDL projected": "JPDL"}, names))


def _kernel_family(  # noqa: PLR0917
    kind: Any,
    variants: dict[str, Variant],
    projected: dict[str, str],
    scales: Scales,
    names: Sequence[str],
    arguments: dict[str, Any],
) -> Family:
    def make(scale_x: float, scale_y: float) -> Any:
        kernels = Gaussian(scale_x), Gaussian(scale_y)
        return kind(*kernels, regularization=1.0, random_state=0, **arguments)

    own = {name: variants[name] for name in names if name in variants}
    return Family(make, own, *scales, projected=_of(projected, names))


def _of(projected: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: of for name, of in projected.items() if name in names}


def compared(
    families: Sequence[Family],
    data: Data,
    also: Mapping[str, Callable[[Conditional], float]] = MappingProxyType({}),
) -> Iterator[Row]:
    """Yield the test scores of each model, selected on the validation rows.

    Parameters
    ----------
    families : sequence of Family
        The models.
    data : Data
        The rows.
    also : mapping
        Further shares to compute of the conditional distributions, by column.
    """
    for family in families:
        found = search(
            family,
            to_device(data.X),
            to_device(data.Y),
            lambda model: data.loss(model, data.validation),
        )
        for name in family.names:
            row = scored(found[name], data, also) if name in found else {}
            yield {"model": name, **row}


def scored(
    best: Best,
    data: Data,
    also: Mapping[str, Callable[[Conditional], float]] = MappingProxyType({}),
) -> Row:
    """Return a row of the table; undefined conditional distributions count as not positive.

    Parameters
    ----------
    best : Best
        The model.
    data : Data
        The rows, of which those for testing are used.
    also : mapping
        Further shares to compute of the conditional distributions, by column.
    """
    start = process_time()
    dists = best.model.given(to_device(data.test.X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignedDistributionWarning)  # no positive mass
        losses = np.asarray(data.score(dists, data.test.truth))
        test = process_time() - start
        defined = np.isfinite(dists.expect(lambda y: np.ones(len(y))))
    some, none = best.model.given(to_device(data.test.X[defined])), 1 - defined.mean()

    def share(ask: Callable[[Conditional], float]) -> float:
        return float(none + (1 - none) * ask(some))

    times = {
        "fit_seconds": best.fit_seconds,
        "solve_seconds": best.solve_seconds,
        "test_seconds": test,
    }
    return {
        "loss": float(np.nanmean(losses)),
        "normalization_error": float(np.max(scores.normalization_error(some))),
        "indefinite_share": share(scores.indefinite_share),
        **{name: share(ask) for name, ask in also.items()},
        "undefined_share": float(none),
        "scale_x": best.scales[0],
        "scale_y": best.scales[1],
        "ridge": best.ridge,
        "rank_x": best.model.basis_x_.rank,
        "rank_y": best.model.basis_y_.rank,
        **({} if device_name() else times),  # the CPU clock does not measure other devices
    }
