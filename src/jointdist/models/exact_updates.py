"""Exact updates of models that are solved from sums: rows come, go, and are merged."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from jointdist._rules import Text, require
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.data.table import Rows, moved
from jointdist.distributions.seen import joined_range, range_of
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.summation import Summation, summed
from jointdist.lowrank.sums import Sums
from jointdist.lowrank.support_sums import SupportFrame, SupportSums
from jointdist.models._arguments import y_for_Y
from jointdist.models._fitted_state import FittedState
from jointdist.models.kept_sample import KeptSample

__all__ = ["ExactUpdates"]

_DIGITS = 3  # digits of the moments that a downdate may lose before they are summed anew


class ExactUpdates(FittedState, ABC):
    """An estimator whose fit to other rows with the same landmarks follows from sums."""

    executor: Executor | None
    basis_x_: Basis
    basis_y_: Basis
    moments_: Moments
    _fitted: Any  # has `kept`, what is kept of the sample

    @abstractmethod
    def fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Fit the model to paired rows."""

    @property
    @abstractmethod
    def _name(self) -> str:
        """The estimator that users call."""

    @abstractmethod
    def _read_rows(self, method: str, X: object, Y: object) -> tuple[Rows, Rows]:
        """Return paired rows of X and Y that come or go, checked and encoded."""

    @abstractmethod
    def _update(self, kept: KeptSample, sums: Moments | None) -> Self:
        """Fit to changed rows, given their moments; without, from the rows."""

    @y_for_Y
    def partial_fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Add rows: exactly the fit to all rows, with the landmarks of the first fit.

        Warns when the landmarks of the first fit do not represent the new rows. Polynomial
        models have no landmarks. A model that is not fitted yet is fitted, with a warning:
        length scales and landmarks then come from the first rows alone.

        Parameters
        ----------
        X, Y, sample_weight
            As in :meth:`fit`.
        """
        self._require_sums("partial_fit")
        if not hasattr(self, "solution_"):
            msg = (
                f"{self._name}.partial_fit: the model is not fitted; length scales and "
                "landmarks are chosen from these rows alone. Call `fit` on typical rows first."
            )
            warn_user(msg, ToleranceWarning)
            return self.fit(X, Y, sample_weight)
        new = Sample.paired(*self._read_rows("partial_fit", X, Y), sample_weight)
        model = self._as_fitted()
        return self._adopt(model._joined(new))  # noqa: SLF001

    @y_for_Y
    def forget(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Remove rows: exactly the fit to the other rows, with the same landmarks.

        Landmarks stay as they are, also those that are among the removed rows. Rows that the
        model does not have are refused; if it has more than ``support_size`` rows, wherever a
        count of its support would turn negative. Then sums are exact, but some sampled support
        points of several columns are gone: cdfs agree within ``support_error_``.

        Parameters
        ----------
        X, Y, sample_weight
            Rows that the model was fitted to, with their weights.
        """
        check_is_fitted(self)
        self._require_sums("forget")
        old = Sample.paired(*self._read_rows("forget", X, Y), sample_weight)
        model = self._as_fitted()
        return self._adopt(model._without(old))  # noqa: SLF001

    @y_for_Y
    def fit_like(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Return a new model of other rows, with the landmarks and settings of this one.

        The two models can be merged; see :meth:`merge`.

        Parameters
        ----------
        X, Y, sample_weight
            As in :meth:`fit`; categories are those of this model.

        Examples
        --------
        >>> import numpy as np
        >>> import jointdist as jd
        >>> rng = np.random.default_rng(0)
        >>> x, noise = rng.normal(size=(2, 400))
        >>> model = jd.JointDistribution(random_state=0).fit(x[:200, None], (x + noise)[:200])
        >>> other = model.fit_like(x[200:, None], (x + noise)[200:])
        >>> both = model.merge(other)
        >>> both.moments_.count
        400
        """
        check_is_fitted(self)
        rows = Sample.paired(*self._read_rows("fit_like", X, Y), sample_weight)
        return self._as_fitted()._like(rows)  # noqa: SLF001

    def merge(self, other: Self) -> Self:
        """Return a new model of the rows of both, exactly: sums add.

        Parameters
        ----------
        other : estimator
            A model with the same landmarks, made by :meth:`fit_like` or from a copy.
        """
        check_is_fitted(self)
        self._require_sums("merge")
        where = f"{self._name}.merge"
        same = type(other) is type(self) and hasattr(other, "solution_")
        rule = f"a fitted {type(self).__name__}"
        require(same, where, "other", rule, Text(f"{other!r}"))
        return self._as_fitted()._merged(other, where)  # noqa: SLF001

    def _require_sums(self, method: str) -> None:
        """Raise if the model is not solved from sums.

        Parameters
        ----------
        method : str
            The method that users call, for the message.
        """

    @property
    def _sums(self) -> Moments:
        """The sums that updates add to and subtract from."""
        return self.moments_

    @property
    def _maps(self) -> tuple[Features, Features]:
        """The features of X and Y whose sums these are."""
        return self.basis_x_.map, self.basis_y_.map

    @property
    def _adds(self) -> bool:
        """Whether the model is solved from sums, which add; else from the rows."""
        return True

    @property
    def _has_landmarks(self) -> bool:
        """Whether models of other landmarks are other models."""
        return True

    def _joined(self, new: Sample) -> Self:
        """Fit to the rows of the model and new ones."""
        if not self._adds:
            return self._update(self._fitted.kept.combined(new, None, None), None)
        kept = self._fitted.kept.framed(self._maps)
        many = kept.exceeded(kept.n + new.n)
        part = self._summed(new, kept.frame if many else None)
        changed = kept.combined(new, self._support(kept) if many else None, part.support)
        return self._update(changed, self._sums + part.moments)

    def _without(self, old: Sample) -> Self:
        """Fit to the rows of the model but for some."""
        where, kept = f"{self._name}.forget", self._fitted.kept
        if not self._adds:
            return self._update(kept.removed(old, None, where), None)
        kept = kept.framed(self._maps)
        part = self._summed(old, None if kept.sums is None else kept.frame)
        left = kept.removed(old, part.support, where)
        sums = self._sums - part.moments
        if sums.lost_digits(self._sums) > _DIGITS:
            if left.rows is not None:  # rounding is left behind
                sums = self._summed(left.rows, None).moments
            else:
                msg = (
                    f"{where}: so much was removed that rounding has cost more than "
                    f"{_DIGITS} digits. Fit to the rows that are left anew."
                )
                warn_user(msg, ToleranceWarning)
        return self._update(left, sums)

    def _like(self, rows: Sample) -> Self:
        """Fit to other rows, with the same landmarks."""
        kept = self._fitted.kept
        if not self._adds:
            return self._update(replace(kept, rows=rows.owned()), None)
        kept = kept.framed(self._maps)
        many = rows.n > kept.support_size
        part = self._summed(rows, kept.frame if many else None)
        own = None if many else rows.owned()
        ends = range_of(rows.x, rows.weights) if many else None
        changed = replace(kept, rows=own, sums=part.support, ends=ends)
        return self._update(changed, part.moments)

    def _merged(self, other: Self, where: str) -> Self:
        """Fit to the rows of two models."""
        rule = "a model with the landmarks of this one, as `fit_like` makes it"
        a, b = self._fitted.kept, other._fitted.kept
        same = a.encodings == b.encodings and a.design == b.design
        require(same, where, "other", rule, Text("one of other columns or categories"))
        if not self._adds:
            return self._update(a.combined(b.all_rows, None, None), None)
        if b.rows is not None and not (self._has_landmarks and other._adds):
            return self._joined(b.rows)
        mine, theirs = self._sums, other._sums
        require(mine.keys == theirs.keys, where, "other", rule, Text("other landmarks"))
        a, b = a.framed(self._maps), b.framed(self._maps)
        if not a.exceeded(a.n + b.n) and b.rows is not None:
            return self._update(a.combined(b.rows, None, None), mine + theirs)
        b = replace(b, frame=a.frame) if b.rows is not None else b
        same = a.frame is not None and b.frame is not None and a.frame.key == b.frame.key
        require(same, where, "other", rule, Text("another frame of its support"))
        changed = a.combined(None, self._support(a), self._support(b))
        changed = replace(changed, ends=joined_range(a.range_x, b.range_x))
        return self._update(changed, mine + theirs)

    def _support(self, kept: KeptSample) -> SupportSums | None:
        """Return the sums of the support, from the rows if these are kept."""
        if kept.rows is None:
            return kept.sums
        return self._summed(kept.rows, kept.frame).support

    def _summed(self, rows: Sample, frame: SupportFrame | None) -> Sums:
        """Return the sums of rows in the features of the model."""
        x, y = (moved(side, self._maps[0].core) for side in (rows.x, rows.y))
        how = Summation(*self._maps, frame)
        return summed(how, x, y, rows.weights, executor_for(x, self.executor))
