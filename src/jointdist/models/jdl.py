"""Joint distribution learning, JDL: the estimator of sections 2 to 4 of the paper."""

from dataclasses import replace
from typing import Self

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import Seed, Text, require, require_kind
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for, executor_like
from jointdist.data.sample import Sample
from jointdist.kernels import Kernel
from jointdist.lowrank.basis import Basis, double_orthogonal
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.reduction import Reduced, reduce_sample
from jointdist.models._arguments import (
    PairedData,
    require_arguments,
    require_exchangeable,
    require_numbers_alone,
    require_ridges,
    y_for_Y,
)
from jointdist.models._kernel_fits import (
    factoring,
    fit_options,
    warn_if_lost,
    warn_if_missed,
)
from jointdist.models._likelihood_fits import (
    chosen_again,
    lacks_selection,
    most_likely,
)
from jointdist.models.base import Fit
from jointdist.models.coefficients import (
    Marginals,
    Positivity,
    Problem,
    path,
    solve,
)
from jointdist.models.joint import SolvedJoint, fit_joint, on_support
from jointdist.models.joint_estimator import JointEstimator
from jointdist.models.kept_sample import KeptSample, support_plan
from jointdist.models.log_linear_rules import (
    require_all_rows,
    require_likelihood,
    require_sums,
)
from jointdist.models.loo import loo_ridges
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.fold_moments import Side, paired_moments
from jointdist.selection.kernel_search import Chosen, KernelSearch, select_kernels
from jointdist.selection.likelihood_search import select_likelihood
from jointdist.selection.risk import Outcomes, Trial
from jointdist.selection.specification import Selection, require_selection

__all__ = ["JointDistribution"]

# Rows by which the ridges of a candidate's functions of Y are judged: a time budget.
_TRIED = 1024


class JointDistribution(JointEstimator):
    r"""The joint distribution of two groups of variables X and Y, learned from paired rows.

    The model is the ratio :math:`1 + h(x, y)` of the joint distribution to the product of the
    empirical marginals, Eq. `Qhdef`. Its deviation from independence,
    :math:`h = \Psi_Y(\cdot) \tilde H \Psi_X(\cdot)^\top`, lies in a low-rank part of the
    product of two kernel spaces, Eq. `eq:state_ij_idlowR`. It minimises the squared
    worst-case error of expectations plus a ridge, Eq. `optgen`.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or "auto", default="auto"
        The kernels of the two sides. By default ``selection`` chooses the length scales of a
        Gaussian kernel of the numeric columns, for X perhaps of a Matérn kernel, times a
        Delta kernel for each categorical column.
    regularization : float, array, "auto" or "loo", default="auto"
        The ridge :math:`\lambda`, zero or positive; by default chosen by ``selection``.
        ``"loo"``: one ridge for each function of Y, with the least leave-one-out error, for
        ``marginals="exact"``; it is infinite, and the coefficients zero, where X does not
        predict the function. An array gives one ridge for each function of Y; then kernels
        must be given, too.
    tol : float, default=1e-3
        The share of the trace of each kernel matrix that its low-rank factor may lose.
        Up to 512 rows are factored to rounding.
    max_rank : int, optional
        The largest rank of a factor; by default 2,048, or 1,024 for a kernel that was
        selected. There is a warning if one of these then loses more than 2 % of its trace
        and ten times ``tol``.
    pivoting : {"auto", "rp", "greedy", "random", "column"}, default="auto"
        How pivots are chosen; see :func:`~jointdist.pivoted_cholesky`.
    marginals : {"exact", "total", "free"}, default="exact"
        ``"exact"``: both marginals of the model are those of the sample, and every
        conditional distribution has mass one. ``"total"``: the joint distribution has mass
        one, Eq. `eq:norma`, as in the paper. ``"free"``: no normalisation; conditional
        distributions are divided by their mass, which may vanish.
    positivity : str, default="projected"
        ``"projected"``: the model is the closed form. Each conditional distribution is
        replaced by its I-projection: the proper distribution with the least Kullback-Leibler
        divergence from the marginal that matches its first and second moments and its
        leading features, up to a ridge chosen by leave-one-out. It is smooth in the
        condition, and reverts to the marginal out of distribution.
        ``"exponential"``: another model, whose log-ratio is linear in the functions of both
        sides. Its penalised likelihood is the largest, so that distributions are proper
        without a projection, both marginals are exact, and X given Y is Bayes' rule. The fit
        is an iteration, and no sum: it cannot be updated, but `refit` turns it into a model
        that can. ``marginals`` must be ``"exact"``, and the ridge positive or ``"auto"``. See
        ``docs/likelihood.md`` for its cells and functions, and what is chosen.
        ``"isotonic"``: as ``"projected"``, for distributions of one numeric column, by the
        nearest cdf. That never raises the CRPS, whatever the outcome, if Y has at most 2,048
        distinct values; of more, neighbouring values are taken together.
        ``"none"``: weights may be negative; closed form.
        ``"grid"``: non-negative on the whole grid of the sample, Eq. `posiCtilde`, up to
        rounding, and the best such model; at other conditions nearly so. Seconds for
        5,000 rows, a minute for 20,000, longer with a tiny ridge or a rough kernel. With
        more than ``grid_rows`` rows, on those of a random block, ``grid_rows_``.
        ``"tightened"``: one inequality, Eq. `eq:tightening`, that implies non-negative
        weights on the grid of the sample. Milliseconds, but often near independence.
        ``"pointwise"``: non-negative for every x and y, for bounded kernels, by the spectral
        norm of the coefficients. Up to seconds, and often near independence.
        ``"rotated"`` and ``"pivot"``: the same guarantee by Lemma `lem:positive`, in the
        rotated basis (milliseconds, still nearer to independence) or at the pivots (seconds).
    grid_rows : int, default=20_000
        The most rows on whose grid ``"grid"`` holds.
    support_size : int, default=65_536
        The most rows that the model keeps, as its support points. Of more rows it keeps sums:
        over bins of one numeric column, or over up to 1,024 leaves of several columns with a
        sample of the rows of each, and 4,096 pairs. So its size does not depend on the
        number of rows; ``support_error_`` says what that costs.
    selection : Selection, optional
        How kernels and ridge are chosen if they are not given: by default by the energy
        score of the signed distributions in five-fold cross-validation, on up to 4,096 rows.
    missing : {"allow", "error"}, default="allow"
        Whether entries of X may be missing. In ``fit`` a missing number or time becomes a
        neutral value beside an indicator, a missing category one of its own. At a question,
        an entry of a column that was complete in ``fit`` is integrated out.
    unknown : {"prior", "error"}, default="prior"
        Whether questions may have categories that ``fit`` has not seen: nothing is known
        about them, and a warning counts them.
    random_state : int, Generator, RandomState, optional
        The seed of pivots and of random choices of rows.
    executor : Executor, optional
        How row blocks are computed.
    verbose : int, default=1
        Whether long computations show their progress on a terminal.

    Attributes
    ----------
    coefficients_ : array of shape (m_Y, m_X)
        The coefficients :math:`\tilde H`. Of ``"exponential"``, those of the functions in its
        log-ratio, which are more than the bases have.
    basis_x_, basis_y_ : Basis
        The bases, with ranks, pivots and trace errors. Of ``"exponential"``, as ``moments_``
        and ``kernel_y_``, those that ``refit`` to other positivity is solved from.
    solution_ : Solution
        The solution of the program: status, certificate, multipliers.
    regularization_ : float or array of shape (m_Y,)
        The ridge, or one for each function of Y. Of ``"exponential"`` it may differ from that
        of ``selection_``, where it is chosen again with all rows.
    kernel_x_, kernel_y_ : Kernel
        The kernels.
    selection_ : Selected or None
        All kernels and ridges that were tried, with their scores.
    moments_ : Moments
        The sums over all rows from which the model was solved.
    grid_rows_ : array of int
        The rows on whose grid positivity ``"grid"`` holds; empty otherwise.
    support_error_, support_error_x_ : float
        By how much cdfs of Y given X, and of X given Y, differ from those on all rows of the
        sample; zero while the support points are the rows. A bound for one column, for
        conditions like those of the sample; for several columns five standard errors.
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
    >>> dist = model.given(x=[[1.0, 0.0]])
    >>> dist.interval(0.9).round(1), dist.prob(lambda y: y > 1).round(1)
    (array([[0.2, 2. ]]), array([0.5]))
    """

    kernel_x_: Kernel
    kernel_y_: Kernel
    _reduction: Reduced
    _chosen: Chosen
    _repeated = True  # whether a weight counts repetitions of a row
    _both = True  # whether projections of X given Y are calibrated
    _open = False  # whether all categories of Y are landmarks, also those without rows

    def __init__(
        self,
        kernel_x: Kernel | str = "auto",
        kernel_y: Kernel | str = "auto",
        *,
        regularization: float | Vector | str = "auto",
        tol: float = 1e-3,
        max_rank: int | None = None,
        pivoting: Pivoting = "auto",
        marginals: Marginals = "exact",
        positivity: Positivity = "projected",
        grid_rows: int = 20_000,
        support_size: int = 65_536,
        selection: Selection | None = None,
        missing: str = "allow",
        unknown: str = "prior",
        random_state: Seed = None,
        executor: Executor | None = None,
        verbose: int = 1,
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
        self.support_size = support_size
        self.selection = selection
        self.missing = missing
        self.unknown = unknown
        self.random_state = random_state
        self.executor = executor
        self.verbose = verbose

    @y_for_Y
    def fit(
        self, X: object, Y: object, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Learn the joint distribution.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (n, d_x)
            The rows of X; columns of strings are categorical.
        Y : array, DataFrame or sequence of shape (n,) or (n, d_y)
            The rows of Y.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a row of weight two counts as two rows, and the sum of the
            weights as the number of rows.
        groups : array, Series or sequence of shape (n,), optional
            The group of each row. Rows of a group depend on each other: they are held out
            together, wherever rows are.

        Returns
        -------
        JointDistribution
            The model itself.
        """
        self._check()
        data = self._read_fit(X, Y, sample_weight, groups)
        require_exchangeable(self._name, data, self.regularization)
        require_numbers_alone(self._name, self.positivity, data.encodings)
        select = select_likelihood if self.positivity == "exponential" else select_kernels
        chosen = select(data.sample, data.encodings, self._search(data), data.rng)
        kernels, rows = (chosen.kernel_x, chosen.kernel_y), (data.sample.x, data.sample.y)
        options = fit_options(self, data.sample, data.rng)
        plan = support_plan(data, self.support_size)
        options |= {"plan": plan, "landmarks_y": self._named(data.encodings[1])}
        reduction = reduce_sample(*kernels, *rows, **options)
        warn_if_lost(self._name, self, reduction)
        kept = KeptSample.of(data, self.support_size, reduction.support)
        fit = Fit.of(chosen, data)
        return self._learn(kept, fit, reduction.small, sample=data.sample)

    def _search(self, data: PairedData) -> KernelSearch:
        """Return what is to be selected, and how."""
        closed = self.positivity in ("projected", "isotonic", "none")
        return KernelSearch(
            self._name,
            (self.kernel_x, self.kernel_y),
            self.regularization,
            self.selection,
            factoring(self, data),
            lambda validation, x, y, part: self._fit_without(data, validation, x, y, part),
            lambda x, y: x * y,
            centred=self.marginals == "exact",
            rough=closed and data.encodings[1].numeric,
            repeated=self._repeated,
            open_y=self._open,
            executor=self.executor,
            verbose=self.verbose,
        )

    def _named(self, encoding: Encoding) -> Vector | None:
        """Return the codes of all categories of Y, if they are the landmarks."""
        if not (self._open and encoding.width == 1 and encoding.all_categorical):
            return None
        return np.arange(float(len(encoding.categories[0] or ())))[:, None]

    def _fit_without(
        self, data: PairedData, validation: CrossValidation, x: Side, y: Side, part: int
    ) -> Trial:
        """Return the model of all rows but those of a fold, as a function of the ridge."""
        sums, rows = paired_moments(x, y, part), validation.train(part)
        bases = x.basis(part), y.basis(part)
        executor = executor_for(rows.x, self.executor)
        problem = Problem(*bases, sums, rows, self.marginals, executor)

        def outcomes() -> Outcomes:
            held = validation.held(part)
            support = problem.sample_y(data.encodings[1])
            points = to_numpy(held.y.read(0, held.n))
            return Outcomes(support, points, held.weights, y.psi(part))

        held = y.remember(("outcomes", part), outcomes)
        solve = path(problem, self.positivity)
        if self._by_loo:
            found = solve(loo_ridges(problem, data.seed, _TRIED))
            return Trial(lambda _: found, x.psi(part), held)
        return Trial(solve, x.psi(part), held)

    def _learn(
        self,
        kept: KeptSample,
        fit: Fit,
        reduction: Reduced,
        bases: tuple[Basis, Basis] | None = None,
        *,
        sample: Sample | None = None,
    ) -> Self:
        """Solve for the coefficients, Eq. `optgenClowR`, and calibrate the projections."""
        x, y = bases or double_orthogonal(reduction, centred=self.marginals == "exact")
        executor = executor_like(x.map.core, self.executor)
        problem = Problem(x, y, reduction.moments, kept.pairs, self.marginals, executor)
        problem = on_support(problem, kept)
        if self.positivity == "exponential":
            rows = kept.all_rows if sample is None else sample
            own, what = self._ridge(fit.chosen, kept.size), (problem, kept, fit)
            joint = most_likely(
                self._name, self, *what, ridge=own, low=reduction.x, sample=rows
            )
        else:
            ridge = self._ridges(problem, fit, kept.size)
            most = self.grid_rows if self.positivity == "grid" else 0
            grid = kept.pairs.choose(most, fit.seed)
            solution = solve(problem, ridge, self.positivity, grid=grid)
            solved = SolvedJoint(problem, solution, self.positivity, ridge, grid)
            joint = fit_joint(solved, kept, both=self._both, judges=fit.judges)
        return self._keep(
            fit,
            joint,
            basis_x_=x,
            basis_y_=y,
            moments_=reduction.moments,
            regularization_=joint.ridge,
            grid_rows_=joint.grid,
            support_error_=joint.support_errors[0],
            support_error_x_=joint.support_errors[1],
            kernel_x_=fit.chosen.kernel_x,
            kernel_y_=fit.chosen.kernel_y,
            _reduction=reduction,
        )

    def _update(self, kept: KeptSample, sums: Moments | None) -> Self:
        assert sums is not None  # noqa: S101  # for type checkers
        reduction = self._reduction.changed(sums)
        warn_if_missed(self._name, self._reduction, reduction, self.tol)
        return self._learn(kept, self._fit, reduction)

    def _solve_again(self) -> Self:
        x, y, centred = self.basis_x_, self.basis_y_, self.marginals == "exact"
        same = centred == any(bool(to_numpy(basis.mean).any()) for basis in (x, y))
        bases = (x, y) if same else None
        fit, kept = self._fit, self._fitted.kept
        if lacks_selection(self, fit, kept):
            data = PairedData.again(kept.all_rows, kept.encodings, fit.columns, fit.seed)
            fit = replace(fit, chosen=chosen_again(self._search(data), fit.chosen, data))
        return self._learn(kept, fit, self._reduction, bases)

    def _check_again(self, where: str) -> None:
        require_likelihood(where, self)
        self._check()
        require_all_rows(where, self.positivity, self._fitted.kept)

    def _ridges(self, problem: Problem, fit: Fit, size: float) -> float | Vector:
        """Return the ridge, or one for each function of Y."""
        if self._by_loo or (self.positivity != "exponential" and self._other_loss(fit)):
            return loo_ridges(problem, fit.seed)
        if not isinstance(self.regularization, np.ndarray):
            return self._ridge(fit.chosen, size)
        given, m = self.regularization.astype(np.float64), problem.y.rank
        rule = f"a number, or {m} of them: one for each function of Y"
        require(len(given) == m, self._name, "regularization", rule, Text(f"{len(given)}"))
        return given

    def _other_loss(self, fit: Fit) -> bool:
        """Whether the ridge was selected for the likelihood, and serves nothing else."""
        selected = isinstance(self.regularization, str) and fit.chosen.located is not None
        return selected and self.marginals == "exact" and fit.judges is None

    @property
    def _by_loo(self) -> bool:
        """Whether each function of Y has a ridge by leave-one-out errors."""
        return isinstance(self.regularization, str) and self.regularization == "loo"

    def _check(self) -> None:
        require_selection(self._name, self.selection, self.verbose)
        require_ridges(self._name, self.regularization)
        require_arguments(
            self._name,
            tol=self.tol,
            grid_rows=self.grid_rows,
            support_size=self.support_size,
        )
        require_kind(self._name, "marginals", self.marginals, Marginals)
        exact = self.marginals == "exact"
        rule = 'a number, an array or "auto" unless marginals="exact"'
        require(exact or not self._by_loo, self._name, "regularization", rule, "loo")
        require_kind(self._name, "positivity", self.positivity, Positivity)
        require_likelihood(self._name, self)

    def _require_sums(self, method: str) -> None:
        fitted = vars(self).get("_settings", {}).get("positivity", self.positivity)
        require_sums(f"{self._name}.{method}", fitted)
