"""Learn the joint distribution of two groups of variables, and ask it anything.

>>> import numpy as np
>>> import jointdist as jd
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(500, 2))
>>> y = X[:, 0] + 0.5 * rng.normal(size=500)
>>> dist = jd.JointDistribution(random_state=0).fit(X, y).given(x=[[1.0, 0.0]])
>>> dist.mean().shape, dist.interval(0.9).shape, dist.prob(lambda y: y > 0).shape
((1,), (1, 2), (1,))

* Models: :class:`JointDistribution`, which also answers X given Y;
  :class:`PolynomialJointDistribution`; :class:`DistributionRegressor`, the most accurate
  forecasts of Y given X; :class:`JointClassifier`; :class:`KernelLogisticRegression`;
  :class:`ConditionalMeanEmbedding`. :class:`ConformalCalibration` recalibrates any of them.
* ``given`` of a model returns a :class:`Conditional`, which answers all questions;
  :func:`given` asks through pipelines and searches.
* :mod:`jointdist.kernels`, :mod:`jointdist.scores`, :mod:`jointdist.plots`,
  :mod:`jointdist.datasets`; :class:`Selection` and :class:`Executor` are options of models.
"""

from typing import TYPE_CHECKING, Any

from jointdist import datasets, kernels
from jointdist.data.executor import Executor
from jointdist.errors import (
    ExpressionError,
    InfeasibleError,
    JointdistError,
    ModelFileError,
    NotPositiveDefiniteError,
    OutOfDistributionWarning,
    SignedDistributionWarning,
    ToleranceWarning,
    UnseenCategoryWarning,
)
from jointdist.lowrank.cholesky import pivoted_cholesky
from jointdist.lowrank.factor import LowRank

if TYPE_CHECKING:
    from jointdist import plots, scores
    from jointdist.distributions.conditional import Conditional
    from jointdist.distributions.protocols import Projection
    from jointdist.models.classifier import JointClassifier
    from jointdist.models.cme import ConditionalMeanEmbedding
    from jointdist.models.conformal import ConformalCalibration
    from jointdist.models.dependence import Dependence
    from jointdist.models.files import load
    from jointdist.models.jdl import JointDistribution
    from jointdist.models.jpdl import PolynomialJointDistribution
    from jointdist.models.klr import KernelLogisticRegression
    from jointdist.models.pipelines import given
    from jointdist.models.regressor import DistributionRegressor
    from jointdist.programs.solution import Solution
    from jointdist.selection.specification import Selected, Selection

__all__ = [
    "Conditional",
    "ConditionalMeanEmbedding",
    "ConformalCalibration",
    "Dependence",
    "DistributionRegressor",
    "Executor",
    "ExpressionError",
    "InfeasibleError",
    "JointClassifier",
    "JointDistribution",
    "JointdistError",
    "KernelLogisticRegression",
    "LowRank",
    "ModelFileError",
    "NotPositiveDefiniteError",
    "OutOfDistributionWarning",
    "PolynomialJointDistribution",
    "Projection",
    "Selected",
    "Selection",
    "SignedDistributionWarning",
    "Solution",
    "ToleranceWarning",
    "UnseenCategoryWarning",
    "datasets",
    "given",
    "kernels",
    "load",
    "pivoted_cholesky",
    "plots",
    "scores",
]

__version__ = "0.1.0"

_LATER = {  # imported when asked for
    "Conditional": "distributions.conditional",
    "ConditionalMeanEmbedding": "models.cme",
    "ConformalCalibration": "models.conformal",
    "Dependence": "models.dependence",
    "DistributionRegressor": "models.regressor",
    "JointClassifier": "models.classifier",
    "JointDistribution": "models.jdl",
    "KernelLogisticRegression": "models.klr",
    "PolynomialJointDistribution": "models.jpdl",
    "Projection": "distributions.protocols",
    "Selected": "selection.specification",
    "Selection": "selection.specification",
    "Solution": "programs.solution",
    "given": "models.pipelines",
    "load": "models.files",
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
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
