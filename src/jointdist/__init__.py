"""Learn the joint distribution of two groups of variables, and ask it anything."""

from typing import TYPE_CHECKING, Any

from jointdist import datasets, kernels
from jointdist.lowrank.cholesky import LowRank, pivoted_cholesky

if TYPE_CHECKING:
    from jointdist import plots, scores
    from jointdist.distributions.conditional import Conditional
    from jointdist.models.classifier import JointClassifier
    from jointdist.models.cme import ConditionalMeanEmbedding
    from jointdist.models.conformal import ConformalCalibration
    from jointdist.models.jdl import JointDistribution
    from jointdist.models.jpdl import PolynomialJointDistribution
    from jointdist.models.klr import KernelLogisticRegression
    from jointdist.models.regressor import DistributionRegressor
    from jointdist.selection.config import Selection

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
    "Conditional": "distributions.conditional",
    "ConditionalMeanEmbedding": "models.cme",
    "ConformalCalibration": "models.conformal",
    "DistributionRegressor": "models.regressor",
    "JointClassifier": "models.classifier",
    "JointDistribution": "models.jdl",
    "KernelLogisticRegression": "models.klr",
    "PolynomialJointDistribution": "models.jpdl",
    "Selection": "selection.config",
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
