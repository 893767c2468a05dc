"""What the estimators of laws share: reading rows, asking laws, rows that come and go."""

import warnings
from abc import ABC, abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from jointdist._array import Vector, to_numpy
from jointdist._params import NestedParameters
from jointdist._progress import progress
from jointdist._random import Seed, generator
from jointdist.data.encoding import Encoding, learn_encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.data.table import Rows, as_weights
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.energy import energy_scores
from jointdist.distributions.signed import Laws
from jointdist.errors import Text, ToleranceWarning, is_whole, require
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.lowrank.basis import Basis, double_orthogonal
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.reduction import Reduction, moments, reduce_sample
from jointdist.models._sklearn import y_for_Y
from jointdist.models.dependence import Dependence, dependence
from jointdist.models.joint import Joint
from jointdist.programs import Solution
from jointdist.selection.config import Selected, Selection, require_selection
from jointdist.selection.fold_moments import Side
from jointdist.selection.kernel_search import Factoring, KernelContest
from jointdist.selection.risk import Trial
from jointdist.selection.search import Contest

__all__ = [
    "EXACT",
    "JointEstimator",
    "KernelEstimator",
    "LawEstimator",
    "require_columns",
]

EXACT = 512  # rows that are factored to rounding, whatever the tolerance
_DIGITS = 3  # that may be lost when rows are taken out
_RANK = 1024  # of the factor of a kernel that was chosen, at most
_STRENGTH = 0.1  # of the ridge where all rows are equal
_SOLVED = {"regularization", "positivity", "marginals", "normalization", "grid_rows"}


def require_columns(model: BaseEstimator, X: Any) -> None:
    """Raise unless a table has the columns that a model was fitted to.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, DataFrame or sequence
        The table; who reads it will complain if it is none.
    """
    flat = np.isscalar(X) or (isinstance(X, list | tuple) and X and np.isscalar(X[0]))
    if not flat and getattr(X, "ndim", 2) == 2:
        validate_data(model, X, reset=False, skip_check_array=True)


class LawEstimator(RegressorMixin, NestedParameters, BaseEstimator, ABC):
    """An estimator of the conditional laws of Y given X."""

    n_features_in_: int
    regularization: Any  # a number, an array of them, or a word
    selection: Selection | None
    verbose: int
    regularization_: Any  # a number, or an array of them
    selection_: Selected | None
    moments_: Moments
    solution_: Solution
    coefficients_: Vector
    random_state: Seed
    executor: Executor | None

    @y_for_Y
    def fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Learn the law.

        Arrays of up to 64 MB are copied. Larger ones, and files, are read where they are
        whenever a law needs them, and must not change.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d_x)
            The rows of X; columns of words are categories.
        Y : array, DataFrame or sequence of shape (n,) or (n, d_y)
            The rows of Y.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a row of weight two counts as two rows, and their sum as
            the number of rows.

        Returns
        -------
        estimator
            The model itself.
        """
        where = self._name
        require_selection(where, self.selection, self.verbose)
        self._check()
        x = learn_encoding(X, where=where, name="X")
        got = Text("None: fit requires y to be passed, but the target y is None")
        require(Y is not None, where, "Y", "given", got)
        y = learn_encoding(Y, where=where, name="Y", vector=True)
        words = x.encoding.of_words
        sample = Sample.paired(x.rows, y.rows, sample_weight, words=words).owned()
        validate_data(self, X, reset=True, skip_check_array=True)
        self._encodings = x[0], y[0]
        if getattr(self, "positivity", None) == "isotonic":
            both = isinstance(self, JointEstimator)
            sides = self._encodings if both else self._encodings[1:]
            alone = any(side.width == 1 and side.numeric for side in sides)
            got = Text('"isotonic", and there is none; ask for "projected"')
            require(alone, where, "positivity", "for laws of one column of numbers", got)
        rng = generator(where, self.random_state)
        self._seed = int(rng.integers(2**32))
        return self._learn(sample, rng)

    def predict(self, X: object) -> Any:
        """Return the conditional means of Y; for words, the most likely ones.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        """
        check_is_fitted(self)
        dist = Conditional(self._of_y(self._read_x("predict", "X", X)))
        return dist.mean() if self._encodings[1].numeric else dist.mode()

    @y_for_Y
    def score(  # pyrefly: ignore[bad-override]  # Y, not y
        self, X: object, Y: object, sample_weight: object = None
    ) -> float:
        """Return the skill of the laws: one minus their CRPS over that of the marginal law.

        One is perfect, zero no better than the sample of Y. For several columns or words
        the CRPS becomes the energy score.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        Y : array, DataFrame or sequence of shape (q,) or (q, d_y)
            What came of them.
        sample_weight : array of shape (q,), optional
            Weights of the rows.
        """
        check_is_fitted(self)
        x, y = self._read_pair("score", X, Y)
        weights = as_weights(sample_weight, x)
        scores = self._scores(x, to_numpy(y.read(0, y.n)))
        own, marginal = (float(np.average(score, weights=weights)) for score in scores)
        if marginal <= 0:  # every row of Y is all atoms: there is nothing to tell
            return 1.0 if own <= 0 else 0.0
        return 1 - own / marginal

    @y_for_Y
    def partial_fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Add rows to the model: exactly the fit to all rows, with the landmarks of the first.

        Warns when the landmarks of the first fit do not represent the new rows. Polynomials
        have none: they are those of all rows. A model
        that is not fitted yet is fitted, with a warning: scales and landmarks are then
        those of the first rows alone.

        Parameters
        ----------
        X, Y, sample_weight
            As in :meth:`fit`.
        """
        if not hasattr(self, "solution_"):
            msg = (
                f"{self._name}.partial_fit: the model is not fitted; scales and landmarks "
                "are chosen from these rows alone. Call `fit` on typical rows first."
            )
            warnings.warn(msg, ToleranceWarning, stacklevel=3)
            return self.fit(X, Y, sample_weight)
        new = Sample.paired(*self._read_pair("partial_fit", X, Y), sample_weight)
        return self._changed(1, new, self._sample.joined(new))

    @y_for_Y
    def forget(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Take rows out of the model again, as if they had not been there.

        Landmarks stay as they are, also those that are among the rows.

        Parameters
        ----------
        X, Y, sample_weight
            Rows that the model was fitted to, with their weights.
        """
        check_is_fitted(self)
        old = Sample.paired(*self._read_pair("forget", X, Y), sample_weight)
        return self._changed(-1, old, self._sample.without(old))

    def refit(self, **params: Any) -> Self:
        """Return the model with another ridge or other constraints, without a pass over rows.

        Landmarks and moments are those that the model has, so that a path of ridges costs
        little more than one. The model itself stays as it is.

        Parameters
        ----------
        **params
            New values of ``regularization``, ``positivity``, ``marginals``,
            ``normalization`` or ``grid_rows``, whichever the estimator has. All others
            need :meth:`fit`.

        Returns
        -------
        estimator
            A new model, fitted to the same rows. With a ridge that was given its
            ``selection_`` is None, as nothing chose that ridge; kernels and degrees are
            still those that were chosen.

        Examples
        --------
        >>> import numpy as np
        >>> import jointdist as jd
        >>> x = np.arange(50.0)[:, None]
        >>> model = jd.JointDistribution(random_state=0).fit(x, np.sqrt(x[:, 0]))
        >>> flat = model.refit(regularization=1e3)
        >>> bool(np.ptp(flat.predict(x)) < np.ptp(model.predict(x)))
        True
        """
        check_is_fitted(self)
        names = [name for name in self.get_params(deep=False) if name in _SOLVED]
        known, rule = set(params) <= set(names), f"among {names}; others need `fit`"
        where, ridge = f"{self._name}.refit", params.get("regularization")
        require(known, where, "params", rule, list(params))
        rule = 'a number of at least 0; "auto" needs `fit`'
        chosen = isinstance(ridge, str) and ridge == "auto"
        require(not chosen, where, "regularization", rule, ridge)
        model = copy(self).set_params(**params)
        if "regularization" in params:
            model.selection_ = None
        model._check()  # noqa: SLF001
        return model._solve_again()  # noqa: SLF001

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a skill of 0.5 is much, unlike an R² of it
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    @abstractmethod
    def _check(self) -> None:
        """Raise unless the arguments obey their rules."""

    @abstractmethod
    def _learn(self, sample: Sample, rng: np.random.Generator) -> Self:
        """Fit to a sample."""

    @abstractmethod
    def _relearn(self, sums: Moments, sample: Sample) -> Self:
        """Fit to a changed sample, whose moments are known."""

    @abstractmethod
    def _solve_again(self) -> Self:
        """Fit to the same sample, after parameters of the program have changed."""

    @abstractmethod
    def _of_y(self, x: Rows) -> Laws:
        """Return the laws of Y given rows of X."""

    def _scores(self, x: Rows, y: Vector) -> tuple[Vector, Vector]:
        """Return the energy scores of the laws at rows of X, and of the sample of Y."""
        return energy_scores(self._of_y(x), y)

    @property
    @abstractmethod
    def _maps(self) -> tuple[Features, Features]:
        """The features of X and Y, whose moments are kept."""

    @property
    @abstractmethod
    def _sample(self) -> Sample:
        """The rows that the model was fitted to."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    _encodings: tuple[Encoding, Encoding]
    _strength: float  # the ridge times the number of rows

    def _ridge(self, sample: Sample) -> float:
        """Return the ridge: that given, or as strong for these rows as was chosen."""
        if isinstance(self.regularization, str):
            return self._strength / sample.size
        return float(self.regularization)

    def _changed(self, sign: int, part: Sample, sample: Sample) -> Self:
        """Solve again after a part of the rows has come or gone."""
        self._check()
        sums = self._moments(part)
        sums = self.moments_ + sums if sign > 0 else self.moments_ - sums
        if sign < 0 and sums.lost_digits(self.moments_) > _DIGITS:
            sums = self._moments(sample)  # what was taken out has left its rounding behind
        return self._relearn(sums, sample)

    def _keep(self, found: Solution) -> None:
        """Keep a solution, and warn if it is not one to tolerance."""
        self.solution_, self.coefficients_ = found, found.value
        if not found.status.ok:
            msg = f"{self._name}: {found.status.value} {found!r}"
            warnings.warn(msg, ToleranceWarning, stacklevel=6)

    def _moments(self, rows: Sample) -> Moments:
        weights, executor = rows.weights, self.executor
        return moments(
            *self._maps, rows.x, rows.y, sample_weight=weights, executor=executor
        )

    def _read_x(self, method: str, name: str, X: object) -> Rows:
        require_columns(self, X)
        vector = method == "given" and self.n_features_in_ == 1
        where = f"{self._name}.{method}"
        return self._encodings[0].encode(X, where=where, name=name, vector=vector)

    def _read_pair(
        self, method: str, X: object, Y: object, *, paired: bool = True
    ) -> tuple[Rows, Rows]:
        where = f"{self._name}.{method}"
        x = self._read_x(method, "X", X)
        y = self._encodings[1].encode(Y, where=where, name="Y", vector=True)
        rule = f"as long as `X` ({x.n} rows)"
        require(not paired or x.n == y.n, where, "Y", rule, Text(f"{y.n} rows"))
        return x, y


class JointEstimator(LawEstimator):
    """An estimator of the joint law of X and Y, which also knows that of X given Y."""

    _joint: Joint

    def given(self, x: object = None, *, y: object = None) -> Conditional:
        """Return conditional laws: of Y for each row of ``x``, or of X for each of ``y``.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d_x), optional
            Conditions on X; a vector if X has one column.
        y : array, DataFrame or sequence of shape (q,) or (q, d_y), optional
            Conditions on Y.
        """
        check_is_fitted(self)
        where = f"{self._name}.given"
        one = (x is None) != (y is None)
        got = Text("neither" if x is None else "both")
        require(one, where, "x, y", "given one or the other", got)
        if y is None:
            return Conditional(self._of_y(self._read_x("given", "x", x)))
        rows = self._joint.encoding_y.encode(y, where=where, name="y", vector=True)
        return Conditional(self._joint.of_x(rows))

    def marginal(self, of: str) -> Conditional:
        """Return the law of X or of Y alone under the model, Eq. `QXYeq`.

        Parameters
        ----------
        of : {"x", "y"}
            Which side.
        """
        check_is_fitted(self)
        require(of in ("x", "y"), f"{self._name}.marginal", "of", 'one of "x" and "y"', of)
        joint = self._joint
        return Conditional(joint.marginal_y() if of == "y" else joint.marginal_x())

    @y_for_Y
    def ratio(self, X: object, Y: object, *, grid: bool = False) -> Vector:
        r"""Return the ratio :math:`1 + h` of the joint law to the product of the samples.

        It is that of the model before its laws are made valid, so that it may be negative.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (k, d_x)
            Rows of X.
        Y : array, DataFrame or sequence of shape (k,) or (k, d_y)
            Rows of Y.
        grid : bool, default=False
            Whether all pairs of rows are asked, with a result ``(k_x, k_y)``, or row i
            of both.
        """
        check_is_fitted(self)
        x, y = self._read_pair("ratio", X, Y, paired=not grid)
        return self._joint.ratio_on_grid(x, y) if grid else self._joint.ratio(x, y)

    def dependence(self, *, permutations: int = 199, random_state: Seed = 0) -> Dependence:
        r"""Measure the dependence of X and Y, with a permutation test of independence.

        Parameters
        ----------
        permutations : int, default=199
            The number of permutations of the test.
        random_state : int, Generator, RandomState, default=0
            The seed of the permutations, and of the choice of rows: at most 20,000 are
            permuted, and 4,096 used for the mutual information.
        """
        check_is_fitted(self)
        where = f"{self._name}.dependence"
        whole = is_whole(permutations, least=1)
        rule = "an integer of at least 1"
        require(whole, where, "permutations", rule, permutations)
        rng = generator(where, random_state)
        # Ridges that were chosen for each function would know the pairs of the sample.
        one = isinstance(self.regularization_, float)
        ridge = self.regularization_ if one else _STRENGTH / self._sample.size
        return dependence(self._joint.problem, self.coefficients_, ridge, permutations, rng)

    def _of_y(self, x: Rows) -> Laws:
        return self._joint.of_y(x)

    @property
    def _sample(self) -> Sample:
        return self._joint.problem.sample


class KernelEstimator(LawEstimator):
    """An estimator on low-rank factors of two kernel matrices."""

    kernel_x: Kernel | str
    kernel_y: Kernel | str
    tol: float
    max_rank: int | None
    pivoting: Pivoting
    basis_x_: Basis
    basis_y_: Basis
    _reduction: Reduction
    _repeated = True  # whether weights tell how often a row was seen

    def _learn(self, sample: Sample, rng: np.random.Generator) -> Self:
        self._choose(sample, rng)
        return self._factor(sample, rng)

    def _factor(self, sample: Sample, rng: np.random.Generator) -> Self:
        """Fit with the kernels that were chosen."""
        kernels = self.kernel_x, self.kernel_y
        auto = [isinstance(kernel, str) for kernel in kernels]
        most = [_RANK if own and self.max_rank is None else self.max_rank for own in auto]
        reduction = reduce_sample(
            self.kernel_x_,
            self.kernel_y_,
            sample.x,
            sample.y,
            tol=self._tol(sample),
            max_rank=(most[0], most[1]),
            pivoting=self._rule(sample),
            sample_weight=sample.weights,
            random_state=rng,
            executor=self.executor,
            warn=(not auto[0], not auto[1]),
        )
        return self._solve(reduction, sample)

    def _tol(self, sample: Sample) -> float:
        """Return the tolerance; few rows are factored to rounding."""
        return 0.0 if self._to_rounding(sample) else self.tol

    def _to_rounding(self, sample: Sample) -> bool:
        """Tell whether rows are so few that they are factored to rounding."""
        weights = sample.weights
        counted = sample.n if weights is None else np.count_nonzero(weights)
        return bool(counted <= EXACT) and self.max_rank is None

    def _rule(self, sample: Sample) -> Pivoting:
        """Return how pivots are chosen."""
        del sample
        return self.pivoting

    def _choose(self, sample: Sample, rng: np.random.Generator) -> None:
        """Choose kernels and ridge: those given, or the best on rows held out."""
        weights = sample.weights
        sides = zip(self._encodings, (sample.x, sample.y), strict=True)
        kernels = ("x", self.kernel_x), ("y", self.kernel_y)
        families = [
            family_of(*kernel, *side, weights=weights, rng=rng)
            for kernel, side in zip(kernels, sides, strict=True)
        ]
        self.selection_, self._strength = None, _STRENGTH
        self.kernel_x_, self.kernel_y_ = (family.at(1.0) for family in families)
        given = not isinstance(self.regularization, str) or self.regularization != "auto"
        if given and not any(family.free for family in families):
            return
        rule = "a number, or a word, where kernels are chosen"
        one = not isinstance(self.regularization, np.ndarray)
        require(one, self._name, "regularization", rule, Text("an array"))
        how = Selection() if self.selection is None else self.selection
        with progress(f"{self._name}: kernels and ridge", verbose=self.verbose) as tell:
            executor = executor_for(sample.x, self.executor)
            contest = Contest(
                self._name,
                how,
                sample,
                self._seed,
                tell,
                executor=executor,
                repeated=self._repeated,
            )
            if not contest.folds:
                return  # all rows are equal
            factoring = Factoring(
                self._tol(sample), self.max_rank, self._rule(contest.sample), self._seed
            )
            KernelContest(
                contest,
                factoring,
                lambda x, y, part: self._trial(contest, x, y, part),
                self._unit,
                self.regularization,
                centred=self._centred,
                rough=self._rough,
            ).run(*families)
            self.selection_ = contest.result()
        chosen = self.selection_.chosen
        assert chosen.kernel_x is not None  # noqa: S101  # for type checkers
        assert chosen.kernel_y is not None  # noqa: S101
        self.kernel_x_, self.kernel_y_ = chosen.kernel_x, chosen.kernel_y
        self._strength = self.selection_.regularization * sample.size

    @property
    def _centred(self) -> bool:
        """Whether the bases are."""
        return False

    @property
    def _rough(self) -> bool:
        """Whether kernels of X may be chosen that are rougher than a Gaussian."""
        return False

    @abstractmethod
    def _unit(self, x: float, y: float) -> float:
        """Return the unit of the ridge, given the mean diagonals of the kernels."""

    @abstractmethod
    def _trial(self, contest: Contest, x: Side, y: Side, part: int) -> Trial:
        """Return a model of all rows of a contest but those of a part."""

    def _relearn(self, sums: Moments, sample: Sample) -> Self:
        old = self._reduction
        new = old.changed(sums, sample.x, sample.y)
        for name, now, then in (("X", new.x, old.x), ("Y", new.y, old.y)):
            if now.relative_error > 2 * max(then.relative_error, self.tol):
                msg = (
                    f"{self._name}: the landmarks miss {now.relative_error:.2g} of the "
                    f"kernel matrix of {name}, where `tol` is {self.tol:g}: laws may be far "
                    "off. Fit to all rows anew."
                )
                warnings.warn(msg, ToleranceWarning, stacklevel=5)
        return self._solve(new, sample)

    def _solve_again(self) -> Self:
        return self._solve(self._reduction, self._sample)

    def _bases(self, reduction: Reduction) -> tuple[Basis, Basis]:
        """Return the bases of both sides: those there are, if they are the same."""
        if reduction is getattr(self, "_reduction", None):
            x, y = self.basis_x_, self.basis_y_
            if self._centred == any(bool(to_numpy(b.mean).any()) for b in (x, y)):
                return x, y
        return double_orthogonal(reduction, centred=self._centred)

    @abstractmethod
    def _solve(self, reduction: Reduction, sample: Sample) -> Self:
        """Solve for the coefficients, and prepare the laws."""

    @property
    def _maps(self) -> tuple[Features, Features]:
        return self._reduction.x.map, self._reduction.y.map
