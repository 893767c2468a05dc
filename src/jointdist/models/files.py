"""Files of models: what :meth:`save` writes and :func:`load` reads.

One schema declares all values that a model is made of. Each room registers its own, in its
``files.py``; the estimators are in :mod:`jointdist.models.estimator_files`.
"""

import os
from collections.abc import Collection
from typing import Any

from jointdist._rules import Text, refusal, require
from jointdist.data.codec import Schema, shown
from jointdist.data.container import read_container, write_container
from jointdist.data.files import register_data
from jointdist.distributions.files import register_distributions
from jointdist.errors import ModelFileError
from jointdist.kernels.files import register_kernels
from jointdist.likelihood.files import register_likelihood
from jointdist.lowrank.files import register_lowrank
from jointdist.models._fitted_state import FittedState
from jointdist.models.estimator_files import ESTIMATORS, register_estimators
from jointdist.models.hurdle_files import register_hurdle
from jointdist.models.value_files import register_values
from jointdist.programs.files import register_programs
from jointdist.programs.solution import Status
from jointdist.projection.files import register_projection
from jointdist.regression.files import register_regression
from jointdist.selection.files import register_selection

__all__ = ["load", "model_schema", "save_model"]

_CLASSES = {cls.__name__: cls for cls in ESTIMATORS}


def model_schema(trusted: Collection[str] = ()) -> Schema:
    """Return the schema of all models.

    Parameters
    ----------
    trusted : collection of str
        The types of regressors that users trust, by their full names.
    """
    schema = Schema()
    register_data(schema)
    register_kernels(schema)
    register_lowrank(schema)
    register_programs(schema)
    register_distributions(schema)
    register_projection(schema)
    register_likelihood(schema)
    register_selection(schema)
    register_regression(schema, trusted)
    register_values(schema)
    register_hurdle(schema)
    register_estimators(schema, trusted)
    return schema


def save_model(
    model: FittedState, path: str | os.PathLike[str], trusted: Collection[str] = ()
) -> None:
    """Write a fitted model to a file; see :meth:`FittedState.save`.

    Parameters
    ----------
    model : estimator
        The model.
    path : path-like
        The file.
    trusted : collection of str
        The types of regressors that users trust, by their full names.
    """
    name = type(model).__name__
    where = f"{name}.save"
    known = type(model) in ESTIMATORS
    rule = f"one of {list(_CLASSES)}, and no subclass: a file holds no code"
    require(known, where, "model", rule, Text(name))
    solution = getattr(model, "solution_", None)
    solved = solution is None or solution.status is not Status.INFEASIBLE
    rule = "feasible, as nothing can be asked of the model otherwise"
    require(solved, where, "solution_", rule, Text("one that is not"))
    schema = model_schema(_names(where, trusted))
    header, arrays = schema.encode(model, where=where)
    write_container(path, {"class": name, **header}, arrays)


def load(path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> Any:
    """Return the model of a file.

    It answers bit by bit as the model that was saved, on the same machine and libraries.
    Nothing of the file is executed, and everything in it is checked: a file that was
    truncated, damaged or changed is refused, or is a model that answers.

    Parameters
    ----------
    path : path-like
        The file, which :meth:`save` has written.
    trusted : collection of str, default=()
        The full names of types that may be loaded beyond those of jointdist and those that
        skops knows, for a :class:`~jointdist.DistributionRegressor` with a regressor of
        yours. A type can run code as it is loaded: name those alone that you trust.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file cannot be read, or is no model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import jointdist as jd
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> model = jd.JointDistribution(random_state=0).fit(x, np.sqrt(x[:, 0]))
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.jd")
    ...     same = jd.load(Path(folder) / "model.jd")
    >>> bool((same.predict(x) == model.predict(x)).all())
    True
    """
    schema, found = model_schema(_names("load", trusted)), read_container(path)
    try:
        cls = _class_of(found.header)
        return schema.decode({"values": found.header["values"]}, found.arrays, cls)
    except ModelFileError as error:
        msg = f"{os.fspath(path)!r} is no model that can be loaded: {error}"
        raise ModelFileError(msg) from error


def _class_of(header: dict[str, Any]) -> type[FittedState]:
    """Return the class of a model by its name in a file."""
    name = header.get("class")
    cls = _CLASSES.get(name) if isinstance(name, str) else None
    if cls is None or set(header) != {"class", "values"}:
        rule = f"one of {list(_CLASSES)}"
        raise ModelFileError(refusal("load", "class", rule, shown(name)))
    return cls


def _names(where: str, trusted: Collection[str]) -> tuple[str, ...]:
    several = isinstance(trusted, list | tuple | set | frozenset)
    good = several and all(isinstance(name, str) for name in trusted)
    require(good, where, "trusted", "a list of full names of types", trusted)
    return tuple(trusted)
