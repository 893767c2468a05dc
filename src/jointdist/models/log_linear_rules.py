"""Rules of models whose log-ratio is linear: what they need, and what they cannot do."""

from typing import Any, Protocol

from jointdist._rules import is_number, require
from jointdist.models.kept_sample import KeptSample

_LARGEST = 1e30  # ridges beyond overflow in single precision

__all__ = ["require_all_rows", "require_likelihood", "require_sums"]


class _Parameters(Protocol):
    positivity: Any
    marginals: Any
    regularization: Any


def require_likelihood(where: str, model: _Parameters) -> None:
    """Raise unless the parameters of an estimator suit maximum likelihood, if it is asked for.

    Parameters
    ----------
    where : str
        The estimator.
    model : estimator
        Its parameters.
    """
    if model.positivity != "exponential":
        return
    exact, ridge = model.marginals == "exact", model.regularization
    require(
        exact, where, "marginals", '"exact" for positivity "exponential"', model.marginals
    )
    positive = is_number(ridge, least=0) and 0 < ridge <= _LARGEST
    good = ridge == "auto" if isinstance(ridge, str) else positive
    auto = "" if where.endswith("refit") else ' or "auto"'  # refits select no ridge
    rule = f'a positive number up to {_LARGEST:g}{auto} for positivity "exponential"'
    require(good, where, "regularization", rule, ridge)


def require_all_rows(where: str, positivity: str, kept: KeptSample) -> None:
    """Raise if the likelihood is to be maximised again, and rows are not kept.

    Parameters
    ----------
    where : str
        The method that users call.
    positivity : str
        The argument.
    kept : KeptSample
        What is kept of the sample.
    """
    rule = (
        "another, as maximum likelihood needs all rows, and the model did not keep them: they "
        "are more than `support_size`; call `fit`"
    )
    fine = positivity != "exponential" or kept.rows is not None
    require(fine, where, "positivity", rule, positivity)


def require_sums(where: str, positivity: str) -> None:
    """Raise if a model is not solved from sums, to which rows are added.

    Parameters
    ----------
    where : str
        The method that users call.
    positivity : str
        That of the fit.
    """
    rule = (
        "another: a likelihood is no sum that rows are added to. Fit to all rows; or turn the "
        "model into one of sums, update that, and turn it back: "
        '`model.refit(positivity="projected").partial_fit(X, Y).refit(positivity="exponential")`'
    )
    require(positivity != "exponential", where, "positivity", rule, positivity)
