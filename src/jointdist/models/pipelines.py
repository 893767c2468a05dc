"""Questions to a model at the end of a pipeline or inside a search."""

from typing import Any

from jointdist._rules import require
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.last_step import last_step

__all__ = ["given"]


def given(estimator: Any, x: object = None, **conditions: Any) -> Conditional:
    """Return conditional distributions of a model, also through a pipeline or a search.

    Rows of X go through the transformations of the pipeline, and its last step is asked. Of
    a search the best estimator is asked. Both may be nested in each other. Tables that
    transformers return as data frames (``set_output``) keep their index and column names.

    Parameters
    ----------
    estimator : estimator
        A fitted model with a method ``given``, a pipeline that ends in one, a search over
        one, or any combination of these.
    x : array, DataFrame or sequence of shape (q, d_x), optional
        Conditions on X, as the first transformation takes them.
    **conditions
        Other arguments of ``given``, as the model has them. They do not go through the
        transformations: names and values of X are those of the last step.

    Returns
    -------
    Conditional
        What ``given`` of the last step returns.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> rng = np.random.default_rng(0)
    >>> X = 1e3 * rng.normal(size=(100, 2))
    >>> y = np.sign(X[:, 0]) + rng.normal(size=100)
    >>> model = jd.JointDistribution(random_state=0)
    >>> pipe = make_pipeline(StandardScaler(), model).fit(X, y)
    >>> dist = jd.given(pipe, X[:3])
    >>> bool(np.allclose(dist.mean(), pipe.predict(X[:3])))
    True
    """
    asked = last_step("given", estimator)
    some = x is not None or any(value is not None for value in conditions.values())
    rule = "rows of X, unless another argument of the model's `given` has the condition"
    require(some, "given", "x", rule, x)
    if x is not None:
        conditions = {"x": asked.transformed(x)} | conditions
    dist: Conditional = asked.model.given(**conditions)
    return dist
