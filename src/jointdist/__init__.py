"""Learn the joint distribution of two groups of variables, and ask it anything."""

from typing import TYPE_CHECKING, Any

from jointdist import datasets, kernels
from jointdist.lowrank import LowRank, pivoted_cholesky

if TYPE_CHECKING:
    from jointdist import plots, scores
    from jointdist.classifier import JointClassifier
    from jointdist.cme import ConditionalMeanEmbedding
    from jointdist.conformal import ConformalCalibration
    from jointdist.jpdl import PolynomialJointDistribution
    from jointdist.klr import KernelLogisticRegression
    from jointdist.law import Conditional
    from jointdist.model import JointDistribution
    from jointdist.regressor import DistributionRegressor
    from jointdist.selection import Selection

__all__ = [
    "Conditional",
    "ConditionalMeanEmbedding",
    "ConformalCalibration",
    "DistributionRegressor",
    "JointClassifier",
    "JointDistribution",
    "KernelLogisticRegression",
    "LowRank",
    "PolynomialJointDistribution",
    "Selection",
    "datasets",
    "kernels",
    "pivoted_cholesky",
    "plots",
    "scores",
]

__version__ = "0.1.0"

_LATER = {  # imported when asked for
    "Conditional": "law",
    "ConditionalMeanEmbedding": "cme",
    "ConformalCalibration": "conformal",
    "DistributionRegressor": "regressor",
    "JointClassifier": "classifier",
    "JointDistribution": "model",
    "KernelLogisticRegression": "klr",
    "PolynomialJointDistribution": "jpdl",
    "Selection": "selection",
    "plots": "",
    "scores": "",
}


def __getattr__(name: str) -> Any:
    """Import estimators when they are first used, as scikit-learn takes a second."""
    if name not in _LATER:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415

    home = _LATER[name]
    if not home:  # a module
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
