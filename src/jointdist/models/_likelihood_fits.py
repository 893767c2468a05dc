"""Fits of a joint distribution by maximum likelihood, as its estimator asks for them."""

from dataclasses import replace
from typing import Any, Protocol

from jointdist.data.executor import executor_for, progress
from jointdist.data.sample import Sample
from jointdist.lowrank.factor import Landmarks
from jointdist.models._arguments import PairedData
from jointdist.models._kernel_fits import KernelParameters
from jointdist.models.base import Fit
from jointdist.models.coefficients import Problem
from jointdist.models.fitted_joint import FittedJoint
from jointdist.models.kept_sample import KeptSample
from jointdist.models.log_linear_fit import fit_log_linear, may_adapt, more_landmarks
from jointdist.selection.kernel_search import Chosen, KernelSearch
from jointdist.selection.likelihood_search import select_likelihood
from jointdist.selection.specification import Selection

__all__ = ["chosen_again", "lacks_selection", "most_likely"]


class _Parameters(KernelParameters, Protocol):
    positivity: Any
    regularization: Any
    selection: Selection | None
    verbose: int


def most_likely(
    where: str,
    model: _Parameters,
    problem: Problem,
    kept: KeptSample,
    fit: Fit,
    *,
    ridge: float,
    low: Landmarks,
    sample: Sample,
) -> FittedJoint:
    """Return the joint distribution whose log-ratio is linear in its coefficients.

    Parameters
    ----------
    where : str
        The estimator.
    model : estimator
        Its parameters.
    problem : Problem
        The bases and the moments.
    kept : KeptSample
        What is kept of the sample.
    fit : Fit
        The hyperparameters.
    ridge : float
        The ridge.
    low : Landmarks
        The landmarks of X that the moments have.
    sample : Sample
        All rows.
    """
    several = kept.encodings[1].width > 1
    ranks = isinstance(model.kernel_y, str) and (kept.encodings[1].numeric or several)
    with progress(f"{where}: likelihood", verbose=model.verbose) as tell:
        return fit_log_linear(
            problem,
            kept,
            sample,
            more_landmarks(model, low, fit.chosen.kernel_x, sample, fit.seed),
            kernel_y=None if ranks else fit.chosen.kernel_y,
            located=fit.chosen.located or (0.0, 0.0),
            ridge=ridge,
            selected=isinstance(model.regularization, str),
            adapt=may_adapt(model.regularization, model.selection, kept),
            executor=executor_for(sample.x, model.executor),
            tell=tell,
        )


def lacks_selection(model: _Parameters, fit: Fit, kept: KeptSample) -> bool:
    """Tell whether the likelihood is to have a ridge that was selected for a closed form.

    Another is selected then, but for rows that depend on each other, whose folds are not kept.

    Parameters
    ----------
    model : estimator
        Its parameters.
    fit : Fit
        The hyperparameters.
    kept : KeptSample
        What is kept of the sample.
    """
    selected = isinstance(model.regularization, str) and fit.chosen.located is None
    return selected and model.positivity == "exponential" and not kept.dependent


def chosen_again(search: KernelSearch, chosen: Chosen, data: PairedData) -> Chosen:
    """Return functions of Y and a ridge for the kernel of X that a model has.

    Parameters
    ----------
    search : KernelSearch
        What was to be selected, and how.
    chosen : Chosen
        What was selected for a closed form.
    data : PairedData
        All rows.
    """
    search = replace(search, kernels=(chosen.kernel_x, search.kernels[1]))
    found = select_likelihood(data.sample, data.encodings, search, data.rng)
    return replace(found, kernel_y=chosen.kernel_y)
