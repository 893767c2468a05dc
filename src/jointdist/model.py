"""The estimator: adaptive joint distribution learning (paper, sections 2 to 4)."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from jointdist._array import to_numpy
from jointdist.atoms import Vector
from jointdist.basis import double_orthogonal
from jointdist.coding import learn_coding
from jointdist.dependence import Dependence, dependence
from jointdist.energy import energy_scores
from jointdist.errors import ToleranceWarning, Words, is_whole, require
from jointdist.executor import Executor, executor_for
from jointdist.fitting import (
    Marginals,
    Positivity,
    Problem,
    require_arguments,
    solve,
)
from jointdist.joint import Joint
from jointdist.kernels import Kernel
from jointdist.law import Conditional
from jointdist.moments import Moments, moments
from jointdist.reduction import Reduction, reduce_sample
from jointdist.rows import Rows, as_weights
from jointdist.sample import Sample
from jointdist.scales import chosen_kernel
from jointdist.search import Pivoting, Seed, generator
from jointdist.target import y_for_Y

__all__ = ["JointDistribution"]

_NAME = "JointDistribution"
_EXACT = 512  # rows that are factored to rounding, whatever the tolerance
_RIDGE = 0.1  # over the number of rows
_DIGITS = 3  # that may be lost when rows are taken out


class JointDistribution(RegressorMixin, BaseEstimator):
    r"""The joint law of two groups of variables X and Y, learned from paired rows.

    The model is the ratio :math:`1 + h(x, y)` of the joint law to the product of the two
    samples, Eq. `Qhdef`, with :math:`h = \Psi_Y(\cdot) \tilde H \Psi_X(\cdot)^\top`
    in a low-rank part of the product of two kernel spaces, Eq. `eq:state_ij_idlowR`. It
    minimises the squared worst-case loss to the sample plus a ridge, Eq. `optgen`.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or "auto", default="auto"
        The kernels of the two sides. By default a Gaussian for numbers, with scales by
        the median heuristic, times a Delta for each column of words.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`, zero or positive. By default 0.1 over the number of
        rows (their weight).
    tol : float, default=1e-3
        The share of the trace of each kernel matrix that its low-rank factor may lose.
        Up to 512 rows are factored to rounding.
    max_rank : int, optional
        The largest rank of a factor.
    pivoting : {"auto", "rp", "greedy", "random", "column"}, default="auto"
        How pivots are chosen; see :func:`~jointdist.pivoted_cholesky`.
    marginals : {"exact", "total", "free"}, default="exact"
        ``"exact"``: both marginals of the model are those of the sample, and every law
        has mass one, at every condition. ``"total"``: the model has mass one as a whole,
        Eq. `eq:norma`, as in the paper. ``"free"``: no normalisation; laws are divided by
        their mass, which may vanish.
    positivity : str, default="none"
        ``"none"``: weights may be negative; closed form.
        ``"grid"``: positive on the whole grid of the sample, Eq. `posiCtilde`, up to
        rounding, and the best such model; at other conditions nearly so. Seconds for
        5,000 rows, a minute for 20,000, longer with a tiny ridge or a rough kernel. Of
        more than ``grid_rows`` rows, on those of a random block, ``grid_rows_``.
        ``"tightened"``: one inequality, Eq. `eq:tightening`, that implies positive weights
        on the grid of the sample. Milliseconds, but often near independence.
        ``"pointwise"``: positive for every x and y, for bounded kernels, by the spectral
        norm of the coefficients. Up to seconds, and often near independence.
        ``"rotated"`` and ``"pivot"``: the same guarantee by Lemma `lem:positive`, in the
        rotated basis (milliseconds, nearer still) or at the pivots (seconds).
    grid_rows : int, default=20_000
        The most rows on whose grid ``"grid"`` holds.
    random_state : int, Generator, RandomState, optional
        The seed of pivots and of choices of rows.
    executor : Executor, optional
        How row blocks are worked on.

    Attributes
    ----------
    coefficients_ : array of shape (m_Y, m_X)
        The coefficients :math:`\tilde H`.
    basis_x_, basis_y_ : Basis
        The bases, with ranks, pivots and trace errors.
    solution_ : Solution
        The solution of the program: status, certificate, multipliers.
    regularization_ : float
        The ridge.
    kernel_x_, kernel_y_ : Kernel
        The kernels.
    moments_ : Moments
        What the sample was reduced to.
    grid_rows_ : array of int
        The rows on whose grid positivity ``"grid"`` holds; empty otherwise.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X is a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=2000)
    >>> model = jd.JointDistribution(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 0.0]]).round(1)
    array([1.])
    >>> law = model.given(x=[[1.0, 0.0]])
    >>> law.interval(0.9).round(1), law.prob(lambda y: y > 1).round(1)
    (array([[0.2, 2.1]]), array([0.4]))
    """

    n_features_in_: int

    def __init__(
        self,
        kernel_x: Kernel | str = "auto",
        kernel_y: Kernel | str = "auto",
        *,
        regularization: float | str = "auto",
        tol: float = 1e-3,
        max_rank: int | None = None,
        pivoting: Pivoting = "auto",
        marginals: Marginals = "exact",
        positivity: Positivity = "none",
        grid_rows: int = 20_000,
        random_state: Seed = None,
        executor: Executor | None = None,
    ) -> None:
        self.kernel_x = kernel_x
        self.kernel_y = kernel_y
        self.regularization = regularization
        self.tol = tol
        self.max_rank = max_rank
        self.pivoting = pivoting
        self.marginals = marginals
        self.positivity = positivity
        self.grid_rows = grid_rows
        self.random_state = random_state
        self.executor = executor

    @y_for_Y
    def fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Learn the joint law.

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
        JointDistribution
            The model itself.
        """
        self._check()
        x = learn_coding(X, where=_NAME, name="X")
        got = Words("None: fit requires y to be passed, but the target y is None")
        require(Y is not None, _NAME, "Y", "given", got)
        y = learn_coding(Y, where=_NAME, name="Y", vector=True)
        sample = Sample.paired(x[1], y[1], sample_weight).owned()
        validate_data(self, X, reset=True, skip_check_array=True)
        self._codings = x[0], y[0]
        rng = generator(_NAME, self.random_state)
        self._seed = int(rng.integers(2**32))
        weights = sample.weights
        self.kernel_x_ = chosen_kernel("x", self.kernel_x, *x, weights=weights, rng=rng)
        self.kernel_y_ = chosen_kernel("y", self.kernel_y, *y, weights=weights, rng=rng)
        counted = sample.n if weights is None else np.count_nonzero(weights)
        small = counted <= _EXACT and self.max_rank is None
        reduction = reduce_sample(
            self.kernel_x_,
            self.kernel_y_,
            sample.x,
            sample.y,
            tol=0.0 if small else self.tol,
            max_rank=self.max_rank,
            pivoting=self.pivoting,
            sample_weight=weights,
            random_state=rng,
            executor=self.executor,
        )
        return self._solve(reduction, sample)

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
        where = f"{_NAME}.given"
        one = (x is None) != (y is None)
        got = Words("neither" if x is None else "both")
        require(one, where, "x, y", "given one or the other", got)
        if y is None:
            return Conditional(self._joint.of_y(self._read_x("given", "x", x)))
        rows = self._joint.coding_y.encode(y, where=where, name="y", vector=True)
        return Conditional(self._joint.of_x(rows))

    def marginal(self, of: str) -> Conditional:
        """Return the law of X or of Y alone under the model, Eq. `QXYeq`.

        Parameters
        ----------
        of : {"x", "y"}
            Which side.
        """
        check_is_fitted(self)
        require(of in ("x", "y"), f"{_NAME}.marginal", "of", 'one of "x" and "y"', of)
        joint = self._joint
        return Conditional(joint.marginal_y() if of == "y" else joint.marginal_x())

    @y_for_Y
    def ratio(self, X: object, Y: object, *, grid: bool = False) -> Vector:
        r"""Return the ratio :math:`1 + h` of the joint law to the product of the samples.

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

    def predict(self, X: object) -> Any:
        """Return the conditional means of Y; for words, the most likely ones.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (q, d_x)
            Rows of X.
        """
        check_is_fitted(self)
        law = Conditional(self._joint.of_y(self._read_x("predict", "X", X)))
        return law.mean() if self._joint.coding_y.numeric else law.mode()

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
        scores = energy_scores(self._joint.of_y(x), to_numpy(y.read(0, y.n)))
        own, marginal = (float(np.average(score, weights=weights)) for score in scores)
        if marginal <= 0:  # every row of Y is all atoms: there is nothing to tell
            return 1.0 if own <= 0 else 0.0
        return 1 - own / marginal

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
        where = f"{_NAME}.dependence"
        whole = is_whole(permutations, least=1)
        rule = "an integer of at least 1"
        require(whole, where, "permutations", rule, permutations)
        rng = generator(where, random_state)
        ridge = self.regularization_
        return dependence(self._joint.problem, self.coefficients_, ridge, permutations, rng)

    @y_for_Y
    def partial_fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Add rows to the model: exactly the fit to all rows with the same landmarks.

        Warns when the landmarks of the first fit do not represent the new rows. A model
        that is not fitted yet is fitted, with a warning: scales and landmarks are then
        those of the first rows alone.

        Parameters
        ----------
        X, Y, sample_weight
            As in :meth:`fit`.
        """
        if not hasattr(self, "moments_"):
            msg = (
                f"{_NAME}.partial_fit: the model is not fitted; scales and landmarks are "
                "chosen from these rows alone. Call `fit` on typical rows first."
            )
            warnings.warn(msg, ToleranceWarning, stacklevel=3)
            return self.fit(X, Y, sample_weight)
        new = Sample.paired(*self._read_pair("partial_fit", X, Y), sample_weight)
        return self._changed(1, new, self._joint.problem.sample.joined(new))

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
        return self._changed(-1, old, self._joint.problem.sample.without(old))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a skill of 0.5 is much, unlike an R² of it
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _solve(self, reduction: Reduction, sample: Sample) -> Self:
        """Solve for the coefficients, and prepare the laws of both sides."""
        self.moments_, self._reduction = reduction.moments, reduction
        self.basis_x_, self.basis_y_ = double_orthogonal(
            reduction, centred=self.marginals == "exact"
        )
        weight = self.moments_.weight
        ridge = _RIDGE / weight if self.regularization == "auto" else self.regularization
        self.regularization_ = float(ridge)
        problem = Problem(
            self.basis_x_,
            self.basis_y_,
            self.moments_,
            sample,
            self.marginals,
            executor_for(sample.x, self.executor),
        )
        most = self.grid_rows if self.positivity == "grid" else 0
        self.grid_rows_ = sample.choose(most, self._seed)
        found = solve(problem, self.regularization_, self.positivity, grid=self.grid_rows_)
        self.solution_, self.coefficients_ = found, found.value
        if not found.status.ok:
            msg = f"{_NAME}: {found.status.value} {found!r}"
            warnings.warn(msg, ToleranceWarning, stacklevel=4)
        self._joint = Joint(problem, *self._codings, found.value)
        return self

    def _check(self) -> None:
        require_arguments(
            self.regularization, self.tol, self.marginals, self.positivity, self.grid_rows
        )

    def _moments(self, rows: Sample) -> Moments:
        maps = self.basis_x_.map, self.basis_y_.map
        weights, executor = rows.weights, self.executor
        return moments(*maps, rows.x, rows.y, sample_weight=weights, executor=executor)

    def _changed(self, sign: int, part: Sample, sample: Sample) -> Self:
        """Solve again after a part of the rows has come or gone."""
        self._check()
        old, sums = self._reduction, self._moments(part)
        sums = self.moments_ + sums if sign > 0 else self.moments_ - sums
        if sign < 0 and sums.lost_digits(self.moments_) > _DIGITS:
            sums = self._moments(sample)  # what was taken out has left its rounding behind
        new = old.changed(sums, sample.x, sample.y)
        for name, now, then in (("X", new.x, old.x), ("Y", new.y, old.y)):
            if now.relative_error > 2 * max(then.relative_error, self.tol):
                msg = (
                    f"{_NAME}: the landmarks miss {now.relative_error:.2g} of the kernel "
                    f"matrix of {name}, where `tol` is {self.tol:g}: laws may be far off. "
                    "Fit to all rows anew."
                )
                warnings.warn(msg, ToleranceWarning, stacklevel=4)
        return self._solve(new, sample)

    def _read_x(self, method: str, name: str, X: object) -> Rows:
        flat = np.isscalar(X) or (isinstance(X, list | tuple) and X and np.isscalar(X[0]))
        if not flat and getattr(X, "ndim", 2) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        where, vector = f"{_NAME}.{method}", method == "given" and self.n_features_in_ == 1
        return self._codings[0].encode(X, where=where, name=name, vector=vector)

    def _read_pair(
        self, method: str, X: object, Y: object, *, paired: bool = True
    ) -> tuple[Rows, Rows]:
        where = f"{_NAME}.{method}"
        x = self._read_x(method, "X", X)
        y = self._codings[1].encode(Y, where=where, name="Y", vector=True)
        rule = f"as long as `X` ({x.n} rows)"
        require(not paired or x.n == y.n, where, "Y", rule, Words(f"{y.n} rows"))
        return x, y
