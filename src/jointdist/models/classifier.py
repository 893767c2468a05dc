"""Classification: the joint distribution of X and labels (paper, *Binary classification*)."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Index, Vector
from jointdist._rules import Seed, Text, require
from jointdist.data.design import Design
from jointdist.data.encoding import Coded
from jointdist.data.executor import Executor
from jointdist.data.labels import learn_labels, read_classes
from jointdist.distributions.conditional import Conditional
from jointdist.kernels import Delta, Kernel
from jointdist.lowrank.factor import Pivoting
from jointdist.models._arguments import (
    read_question,
    require_columns,
)
from jointdist.models._fitted_state import FittedState
from jointdist.models._labelled import (
    count_rows,
    encode_conditions,
    encode_labels,
    require_classes,
    require_ridge,
    signed_probabilities,
)
from jointdist.models.coefficients import Marginals, Positivity
from jointdist.models.jdl import JointDistribution
from jointdist.models.reweighted import Reweighted
from jointdist.programs import Solution
from jointdist.programs.simplex import onto_simplex
from jointdist.selection.specification import Selected, Selection

__all__ = ["JointClassifier"]

_NAME = "JointClassifier"


class JointClassifier(ClassifierMixin, FittedState):
    r"""Class probabilities from the joint distribution of X and the labels.

    A :class:`~jointdist.JointDistribution` of X and the labels, with the kernel
    :class:`~jointdist.kernels.Delta` for the labels. The conditional distribution of the
    labels may be signed; its probabilities are therefore projected onto the simplex, to the
    nearest ones that are not negative and have sum one. That never worsens the Brier score,
    whatever the label turns out to be, and leaves the most likely label as it is.

    Parameters
    ----------
    kernel_x : Kernel or "auto", default="auto"
        The kernel of X; as in :class:`~jointdist.JointDistribution`.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`, zero or positive; by default chosen by ``selection``.
    tol, max_rank, pivoting, marginals
        As in :class:`~jointdist.JointDistribution`.
    positivity : str, default="none"
        As in :class:`~jointdist.JointDistribution`. Probabilities are proper anyway; other
        values than ``"none"`` make the joint distribution itself proper. ``"exponential"`` is
        kernel logistic regression with intercepts, multinomial for several labels.
    grid_rows, support_size
        As in :class:`~jointdist.JointDistribution`.
    class_weight : "balanced" or dict of labels to numbers, optional
        The weight of each class, which multiplies that of its rows: the model is that of a
        population in which the classes are more or less frequent. ``"balanced"``: all
        equally frequent. Labels that a dict does not name have weight one.
    selection : Selection, optional
        As in :class:`~jointdist.JointDistribution`. The energy score of the distribution of
        labels, which may be signed here, is half its Brier score.
    missing, unknown, random_state, executor, verbose
        As in :class:`~jointdist.JointDistribution`.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels, sorted.
    joint_ : JointDistribution
        The joint distribution of X and the labels.
    coefficients_, solution_, regularization_, selection_
        Those of ``joint_``.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X is a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > rng.normal(size=500), "same", "other")
    >>> model = jd.JointClassifier(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'other'], dtype='<U5')
    >>> model.predict_proba([[1.0, 1.0]]).round(1)
    array([[0.2, 0.8]])
    >>> model.given([[1.0, 1.0]]).prob(lambda y: y == "same").round(1)
    array([0.8])
    """

    classes_: NDArray[Any]
    joint_: JointDistribution

    def __init__(
        self,
        kernel_x: Kernel | str = "auto",
        *,
        regularization: float | str = "auto",
        tol: float = 1e-3,
        max_rank: int | None = None,
        pivoting: Pivoting = "auto",
        marginals: Marginals = "exact",
        positivity: Positivity = "none",
        grid_rows: int = 20_000,
        support_size: int = 65_536,
        class_weight: object = None,
        selection: Selection | None = None,
        missing: str = "allow",
        unknown: str = "prior",
        random_state: Seed = None,
        executor: Executor | None = None,
        verbose: int = 1,
    ) -> None:
        self.kernel_x = kernel_x
        self.regularization = regularization
        self.tol = tol
        self.max_rank = max_rank
        self.pivoting = pivoting
        self.marginals = marginals
        self.positivity = positivity
        self.grid_rows = grid_rows
        self.support_size = support_size
        self.class_weight = class_weight
        self.selection = selection
        self.missing = missing
        self.unknown = unknown
        self.random_state = random_state
        self.executor = executor
        self.verbose = verbose

    def fit(
        self, X: object, y: object, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Learn the joint distribution of rows and labels.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d)
            The rows of X; columns of strings are categorical.
        y : array, Series or sequence of shape (n,)
            Their labels: strings, integers, or True and False.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a row of weight two counts as two rows, and their sum as
            the number of rows.
        groups : array, Series or sequence of shape (n,), optional
            The group of each row. Rows of a group are held out together.
        """
        labels = learn_labels(y, n=count_rows(_NAME, X), where=_NAME)
        table = encode_labels(_NAME, X, labels, sample_weight, self.class_weight)
        joint = self._unfitted().fit(X, *table, groups)
        return self._set_fitted({"joint_": joint, "classes_": labels.classes})

    def partial_fit(
        self, X: object, y: object, classes: object = None, sample_weight: object = None
    ) -> Self:
        """Add rows: exactly the fit to all rows, with the landmarks of the first fit.

        A model that is not fitted yet is fitted, with a warning: length scales and landmarks
        then come from the first rows alone. A label that is neither among theirs nor named
        in ``classes`` can't be learned later.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        classes : array of shape (k,), optional
            All labels, named in the first call. One that has no rows yet has probability
            zero. Once it has some, the model is that of all rows.
        sample_weight
            As in :meth:`fit`.
        """
        where = f"{_NAME}.partial_fit"
        if hasattr(self, "joint_"):
            require_classes(where, classes, self.classes_)
            table = self._read(where, X, y, sample_weight)
            return self._with(copy(self.joint_).partial_fit(X, *table))
        self._require_weights(where)
        named = None if classes is None else read_classes(classes, where=where)
        labels = learn_labels(y, n=count_rows(where, X), where=where, classes=named)
        table = encode_labels(_NAME, X, labels, sample_weight, self.class_weight)
        joint = self._unfitted()
        joint._open = named is not None  # noqa: SLF001
        joint.partial_fit(X, *table)
        return self._set_fitted({"joint_": joint, "classes_": labels.classes})

    def forget(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Remove rows: exactly the fit to the other rows, with the same landmarks.

        Parameters
        ----------
        X, y, sample_weight
            Rows that the model was fitted to, with their labels and weights.
        """
        check_is_fitted(self)
        table = self._read(f"{_NAME}.forget", X, y, sample_weight)
        return self._with(copy(self.joint_).forget(X, *table))

    def fit_like(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Return a new model of other rows, with the landmarks and settings of this one.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`; labels are those of this model.
        """
        check_is_fitted(self)
        table = self._read(f"{_NAME}.fit_like", X, y, sample_weight)
        return copy(self)._with(self.joint_.fit_like(X, *table))  # noqa: SLF001

    def merge(self, other: Self) -> Self:
        """Return a new model of the rows of both, exactly: sums add.

        Parameters
        ----------
        other : JointClassifier
            A model with the same landmarks, made by :meth:`fit_like` or from a copy.
        """
        check_is_fitted(self)
        fitted = type(other) is type(self) and hasattr(other, "joint_")
        rule = f"a fitted {_NAME}"
        require(fitted, f"{_NAME}.merge", "other", rule, Text(f"{other!r}"))
        return copy(self)._with(self.joint_.merge(other.joint_))  # noqa: SLF001

    def refit(self, **params: Any) -> Self:
        """Return the model with another ridge or other constraints, without a pass over rows.

        Parameters
        ----------
        **params
            New values of ``regularization``, ``positivity``, ``marginals`` or ``grid_rows``,
            as in :meth:`JointDistribution.refit <jointdist.JointDistribution.refit>`.
        """
        check_is_fitted(self)
        require_ridge(f"{_NAME}.refit", params.get("regularization", "auto"))
        joint = self.joint_.refit(**params)
        model = self._as_fitted().set_params(**params)
        return model._set_fitted({"joint_": joint, "classes_": self.classes_})  # noqa: SLF001

    def given(
        self, x: object = None, *, y: object = None, where: object = None
    ) -> Conditional:
        """Return the distributions of labels given rows of X, or of X given labels.

        They may be signed.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d), optional
            Rows of X; a vector if X has one column.
        y : array or sequence of shape (q,), optional
            Labels that have rows: X given a label of probability zero is not defined.
        where : str, callable, or array of shape (n,), optional
            An event in terms of X, as in :class:`~jointdist.JointDistribution`.
        """
        check_is_fitted(self)
        if x is not None:
            require_columns(self, x)
        elif y is not None:
            fitted = self.joint_._fitted  # noqa: SLF001
            known, support = fitted.kept.encodings[1], fitted.marginal_y().support
            y = encode_conditions(f"{_NAME}.given", y, known, support)
        return self._answer(self.joint_.given(x=x, y=y, where=where))

    def reweighted(self, X: object = None, *, weights: object = None) -> Reweighted:
        """Return the model under another distribution of X, with the same p(y | x).

        Parameters
        ----------
        X, weights
            As in :class:`~jointdist.JointDistribution`.
        """
        check_is_fitted(self)
        return self.joint_.reweighted(X, weights=weights)

    def predict(self, X: object) -> Any:
        """Return the most likely labels.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            Rows of X.
        """
        present, signed = self._signed("predict", X)
        labels: NDArray[Any] = self.classes_[present[signed.argmax(axis=1)]]
        return self._forecast(labels, X, ("y",))

    def predict_proba(self, X: object) -> Any:
        """Return the probabilities of the labels, in the order of ``classes_``.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            Rows of X.

        Returns
        -------
        array of shape (q, k)
            Probabilities; they are not negative and have sum one.
        """
        return self._of_classes(self._proper("predict_proba", X), X)

    def predict_log_proba(self, X: object) -> Any:
        """Return the logarithms of the probabilities; minus infinity for zero.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d)
            Rows of X.
        """
        with np.errstate(divide="ignore"):
            return self._of_classes(np.log(self._proper("predict_log_proba", X)), X)

    @property
    def coefficients_(self) -> Vector:
        r"""The coefficients :math:`\tilde H` of the joint distribution."""
        return self.joint_.coefficients_

    @property
    def solution_(self) -> Solution:
        """The solution of the program: status, certificate, multipliers."""
        return self.joint_.solution_

    @property
    def regularization_(self) -> float:
        """The ridge."""
        return float(self.joint_.regularization_)

    @property
    def selection_(self) -> Selected | None:
        """The candidates for kernel and ridge with their scores; None if both were given."""
        return self.joint_.selection_

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""
        return self.joint_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns of X, if it is a DataFrame."""
        names: NDArray[Any] | None = getattr(self.joint_, "feature_names_in_", None)
        if names is None:
            msg = f"{_NAME}: X had no names of columns"
            raise AttributeError(msg)
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "allow"
        return tags

    def _with(self, joint: JointDistribution) -> Self:
        """Set another joint distribution of the same labels."""
        self.__dict__ |= {"joint_": joint}
        return self

    def _read(
        self, where: str, X: object, y: object, sample_weight: object
    ) -> tuple[Coded, Vector | None]:
        """Return labels of the fitted classes, and the weights of their rows."""
        self._require_weights(where)
        labels = learn_labels(y, n=count_rows(where, X), where=where, classes=self.classes_)
        weight = self._settings["class_weight"] if hasattr(self, "_settings") else None
        return encode_labels(_NAME, X, labels, sample_weight, weight)

    def _require_weights(self, where: str) -> None:
        """Raise if the weights of classes depend on all rows."""
        fitted = vars(self).get("_settings", {}).get("class_weight", self.class_weight)
        rule = "None or a dict, as shares are not known of rows to come"
        require(not isinstance(fitted, str), where, "class_weight", rule, fitted)

    @property
    def encoding_(self) -> Design:
        """What became of the columns of X."""
        check_is_fitted(self)
        return self.joint_.encoding_

    def _unfitted(self) -> JointDistribution:
        """Return the estimator of the joint distribution of X and the labels."""
        arguments = self.get_params(deep=False)
        require_ridge(_NAME, self.regularization)
        del arguments["class_weight"]
        joint = JointDistribution(kernel_y=Delta(), **arguments)
        joint._caller = _NAME  # noqa: SLF001
        joint._repeated = self.class_weight is None  # noqa: SLF001
        return joint

    def _proper(self, method: str, X: object) -> Vector:
        """Return the probabilities of all labels, ``(q, K)``."""
        present, signed = self._signed(method, X)
        proper = np.zeros((len(signed), len(self.classes_)))
        proper[:, present] = onto_simplex(signed)
        return proper

    def _signed(self, method: str, X: object) -> tuple[Index, Vector]:
        """Return the labels that have rows, and their signed probabilities."""
        check_is_fitted(self)
        where, design = f"{_NAME}.{method}", self.joint_.encoding_
        question = read_question(self, design, X, where=where)
        return signed_probabilities(self.joint_._answers(method, question))  # noqa: SLF001
