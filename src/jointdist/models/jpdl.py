"""Joint polynomial distribution learning, JPDL (paper, appendix *Polynomial distributions*)."""

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Vector
from jointdist._rules import Seed, Text, is_whole, require, require_kind
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.updates import joined
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.polynomials import Polynomials, orthonormal_polynomials
from jointdist.lowrank.protocols import Features
from jointdist.models._arguments import (
    PairedData,
    require_arguments,
    require_numbers_alone,
    y_for_Y,
)
from jointdist.models.base import Fit
from jointdist.models.coefficients import Marginals, PolynomialPositivity, solve
from jointdist.models.degrees import ChosenDegree, DegreeSearch, select_degree
from jointdist.models.joint import SolvedJoint, fit_joint, on_support
from jointdist.models.joint_estimator import JointEstimator
from jointdist.models.kept_sample import KeptSample
from jointdist.models.polynomial_problem import (
    Factors,
    feasible_degrees,
    kept_polynomials,
    polynomial_executor,
    polynomial_problem,
    require_independent,
    require_numeric,
    solve_squares,
    warn_of_relations,
)
from jointdist.selection.specification import Selection, require_selection

if TYPE_CHECKING:
    from jointdist.programs import Solution

__all__ = ["PolynomialJointDistribution"]


class PolynomialJointDistribution(JointEstimator):
    r"""The joint distribution of X and Y with a polynomial ratio, learned from paired rows.

    The ratio :math:`1 + h(x, y)` of the joint distribution to the product of the empirical
    marginals is a polynomial of degree :math:`q` in x and :math:`q` in y. The inner product
    is that of the sample, so that the basis is orthonormal by construction, low rank loses
    nothing, and the objective is Eq. `eq:polynomial`, a sum of squares in the coefficients.
    It suits smooth dependence of a few columns without heavy tails, and needs many more rows
    than functions. Out of distribution polynomials are unreliable;
    :meth:`Conditional.novelty <jointdist.Conditional.novelty>` measures how far.

    Parameters
    ----------
    degree : int or "auto", default="auto"
        The total degree :math:`q` of the polynomials on each side; even for sums of
        squares. By default ``selection`` chooses it, up to four. Of the
        :math:`\binom{d + q}{q}` functions of :math:`d` columns, those that are linear
        combinations of others on the sample are dropped, with a warning if the degree was
        given or ``positivity`` is ``"sos"``. A side with more than 2,048 functions gets a
        lower degree, with a warning.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`: all coefficients are divided by :math:`1 + \lambda`. By
        default chosen by ``selection``.
    marginals : {"total", "exact", "free"}, default="total"
        As in :class:`~jointdist.JointDistribution`. Without positivity all three are the
        same model, and its marginals are those of the sample.
    positivity : str, default="projected"
        ``"projected"``, ``"isotonic"``: conditional distributions are projected, as in
        :class:`~jointdist.JointDistribution`. ``"projected"`` ones match the means of the
        polynomials, those of Y and of its products first.
        ``"none"``: weights may be negative; closed form.
        ``"sos"``: the ratio is a sum of squares, Eq. `eq:semdefcone`, and so non-negative
        for every x and y; the Gram matrix ``solution_.gram`` proves it. Up to a second for
        three columns on each side, a minute for four with heavy tails; beyond that the
        solver may stop before the optimum. If functions were dropped, the ratio is
        non-negative wherever the linear relations of the sample hold.
        ``"tightened"``, ``"grid"``: as in :class:`~jointdist.JointDistribution`.
    grid_rows : int, default=20_000
        The most rows on whose grid ``"grid"`` holds.
    support_size : int, default=65_536
        As in :class:`~jointdist.JointDistribution`.
    selection : Selection, optional
        How degree and ridge are chosen if they are not given; as in
        :class:`~jointdist.JointDistribution`. Of the constraints only ``"tightened"`` takes
        part.
    missing, unknown : str
        As in :class:`~jointdist.JointDistribution`.
    random_state : int, Generator, RandomState, optional
        The seed of random choices of rows.
    executor : Executor, optional
        How row blocks are computed.
    verbose : int, default=1
        Whether long computations show their progress on a terminal.

    Attributes
    ----------
    coefficients_ : array of shape (m_Y, m_X)
        The coefficients :math:`\tilde H`.
    basis_x_, basis_y_ : Basis
        The orthonormal polynomials.
    solution_ : Solution
        The solution of the program: status, certificate, multipliers; with positivity
        ``"sos"`` also the Gram matrix ``gram``.
    regularization_ : float
        The ridge.
    kernel_x_, kernel_y_ : SampleKernel
        The kernels :math:`\tau G^{-1} \tau^\top`.
    moments_ : Moments
        The sums over all rows from which the model was solved.
    selection_ : Selected or None
        All degrees and ridges that were tried, with their scores.
    degrees_ : tuple of int
        The degrees in x and in y.
    dropped_ : tuple of int
        How many functions of X and of Y were dropped.
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
    >>> y = X[:, 0] + rng.normal(size=2000)
    >>> model = jd.PolynomialJointDistribution(positivity="sos").fit(X, y)
    >>> bool(model.ratio([[9.0, -9.0]], [3.0])[0] > 0)
    True
    >>> dist = model.given(x=[[1.0, 0.0]])
    >>> bool(0.5 < dist.mean()[0] < 1.5)
    True
    """

    degrees_: tuple[int, int]
    _chosen: ChosenDegree
    _polynomials: Polynomials
    _base: Polynomials  # those of the first fit, whose sums are updated
    _factors: Factors | None

    _numbers_alone = True

    def __init__(
        self,
        degree: int | str = "auto",
        *,
        regularization: float | str = "auto",
        marginals: Marginals = "total",
        positivity: PolynomialPositivity = "projected",
        grid_rows: int = 20_000,
        support_size: int = 65_536,
        selection: Selection | None = None,
        missing: str = "allow",
        unknown: str = "prior",
        random_state: Seed = None,
        executor: Executor | None = None,
        verbose: int = 1,
    ) -> None:
        self.degree = degree
        self.regularization = regularization
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
        X, Y, sample_weight, groups
            As in :meth:`JointDistribution.fit <jointdist.JointDistribution.fit>`; numbers.
        """
        self._check()
        data = self._read_fit(X, Y, sample_weight, groups)
        require_numbers_alone(self._name, self.positivity, data.encodings)
        require_numeric(self._name, data.encodings)
        chosen = select_degree(data, self._search())
        sample, how = data.sample, (data.encodings[0], data.seed)
        functions = self._orthonormal(sample, self._degrees(chosen, sample), *how)
        kept = kept_polynomials(data, functions, self.support_size, self.executor)
        self._warn(functions)
        return self._learn(kept, Fit.of(chosen, data), functions)

    @y_for_Y
    def squares(self, X: object, Y: object) -> Vector:
        r"""Return the sum of squares :math:`\tau_q A \tau_q^\top` at pairs of rows.

        It is computed from the Gram matrix ``solution_.gram`` alone and equals
        :meth:`ratio`, which it proves to be non-negative if the matrix has no negative
        eigenvalue. If functions were dropped, the proof holds wherever the linear relations
        of the sample hold.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (k, d_x)
            Rows of X.
        Y : array, DataFrame or sequence of shape (k,) or (k, d_y)
            Rows of Y.
        """
        check_is_fitted(self)
        x, y = self._read_pair("squares", X, Y)
        where, got = f"{self._name}.squares", Text(f"{self.positivity!r} in `fit`")
        gram: Vector = getattr(self.solution_, "gram", np.empty((0, 0)))
        require(gram.size, where, "positivity", '"sos"', got)
        factors = self._factors
        assert factors is not None  # noqa: S101  # for type checkers
        a = host_features(self.basis_y_, y.read(0, y.n))[:, factors[0]]
        b = host_features(self.basis_x_, x.read(0, x.n))[:, factors[1]]
        z = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
        found: Vector = np.sum((z @ gram) * z, axis=1)
        return found

    def _check(self) -> None:
        require_selection(self._name, self.selection, self.verbose)
        require_arguments(
            self._name,
            regularization=self.regularization,
            grid_rows=self.grid_rows,
            support_size=self.support_size,
        )
        require_kind(self._name, "marginals", self.marginals, Marginals)
        require_kind(self._name, "positivity", self.positivity, PolynomialPositivity)
        where, degree = self._name, self.degree
        auto = isinstance(degree, str) and degree == "auto"
        rule = 'an integer of at least 1, or "auto"'
        require(auto or is_whole(degree, least=1), where, "degree", rule, degree)
        if self.positivity != "sos":
            return
        even = auto or int(degree) % 2 == 0
        require(even, where, "degree", 'even for positivity "sos"', self.degree)
        rule = (
            '"total" or "free" for positivity "sos", as a polynomial that is positive '
            "everywhere and has mean one for each x does not depend on x"
        )
        require(self.marginals != "exact", where, "marginals", rule, self.marginals)

    def _search(self) -> DegreeSearch:
        """Return what is to be selected, and how."""
        return DegreeSearch(
            self._name,
            self.degree,
            self._step,
            self.regularization,
            self.marginals,
            self.positivity,
            self.selection,
            self.executor,
            self.verbose,
        )

    @property
    def _step(self) -> int:
        """The step from one degree to the next: sums of squares have even degrees."""
        return 2 if self.positivity == "sos" else 1

    def _degrees(self, chosen: ChosenDegree, sample: Sample) -> tuple[int, int]:
        """Return the degrees of both sides, with a warning where one is lowered."""
        asked = chosen.degree if isinstance(self.degree, str) else self.degree
        return feasible_degrees(self._name, sample, asked, self._step, warn=True)

    def _warn(self, functions: Polynomials) -> None:
        """Warn if functions were dropped that the user has asked for."""
        squares, given = self.positivity == "sos", not isinstance(self.degree, str)
        warn_of_relations(self._name, functions, squares=squares, given=given)

    def _orthonormal(
        self, rows: Sample, degrees: tuple[int, int], encoding: Encoding, seed: int
    ) -> Polynomials:
        executor = polynomial_executor(rows, self.executor)
        return orthonormal_polynomials(
            degrees,
            rows.x,
            rows.y,
            rows.weights,
            unused=encoding.unused,
            seed=seed,
            executor=executor,
        )

    def _learn(
        self,
        kept: KeptSample,
        fit: Fit,
        functions: Polynomials,
        base: Polynomials | None = None,
    ) -> Self:
        """Solve for the coefficients, Eq. `eq:polynomial`, and calibrate the projections.

        Sums are kept in the polynomials ``base``, by default in those of the model.
        """
        problem = polynomial_problem(functions, kept.pairs, self.marginals, self.executor)
        problem = on_support(problem, kept)
        ridge = self._ridge(fit.chosen, kept.size)
        most = self.grid_rows if self.positivity == "grid" else 0
        grid = kept.pairs.choose(most, fit.seed)
        found: Solution
        factors: Factors | None = None
        if self.positivity == "sos":
            found, factors = solve_squares(problem, functions, ridge)
        else:
            found = solve(problem, ridge, self.positivity, grid=grid)
        base = functions if base is None else base
        shown = kept.in_features((base.x, base.y), (functions.x, functions.y))
        solved = SolvedJoint(problem, found, self.positivity, ridge, grid)
        joint = fit_joint(solved, kept, shown=shown, judges=fit.judges)
        return self._keep(
            fit,
            joint,
            basis_x_=problem.x,
            basis_y_=problem.y,
            moments_=problem.moments,
            regularization_=ridge,
            grid_rows_=grid,
            support_error_=joint.y_given_x.support_error,
            support_error_x_=joint.x_given_y.support_error,
            kernel_x_=functions.x.kernel,
            kernel_y_=functions.y.kernel,
            degrees_=(functions.x.degree, functions.y.degree),
            dropped_=functions.dropped,
            _polynomials=functions,
            _base=base,
            _factors=factors,
        )

    def _update(self, kept: KeptSample, sums: Moments | None) -> Self:
        assert sums is not None  # noqa: S101  # for type checkers
        base = self._base
        functions = base.changed(sums, again=kept.rows is not None)
        if functions is None:  # rounding has grown, or functions come and go: a new start
            how = self.degrees_, kept.encodings[0], self._seed
            base = functions = self._orthonormal(kept.all_rows, *how)
        else:
            require_independent(self._name, kept, functions, base)
            base = replace(base, moments=sums)
        self._warn(functions)
        return self._learn(kept, self._fit, functions, base)

    def _joined(self, new: Sample) -> Self:
        kept = self._fitted.kept
        if not any(self._base.dropped) or not kept.exceeded(kept.n + new.n):
            return super()._joined(new)
        if kept.rows is None:
            msg = (
                f"{self._name}: {sum(self._base.dropped)} functions were combinations of "
                "others when rows were last kept, and stay dropped. Fit to all rows anew if "
                "that has changed."
            )
            warn_user(msg, ToleranceWarning)
            return super()._joined(new)
        rng, rows = np.random.default_rng(self._seed), joined(kept.rows, new)
        common = self._columns, rng, self._seed, kept.made
        data = PairedData(rows, kept.encodings, *common)
        how = self.degrees_, kept.encodings[0], self._seed
        functions = self._orthonormal(rows, *how)
        self._warn(functions)
        more = kept_polynomials(data, functions, self.support_size, self.executor)
        return self._learn(replace(more, dependent=kept.dependent), self._fit, functions)

    @property
    def _has_landmarks(self) -> bool:
        """False: polynomials of a degree are the same, whatever rows they are found on."""
        return False

    @property
    def _sums(self) -> Moments:
        """The sums that updates add to, of the polynomials of the first fit."""
        return self._base.moments

    @property
    def _maps(self) -> tuple[Features, Features]:
        """The polynomials of the first fit."""
        return self._base.x, self._base.y

    def _check_again(self, where: str) -> None:
        even = self.positivity != "sos" or not any(degree % 2 for degree in self.degrees_)
        rule = f"another than 'sos', as degrees {self.degrees_} are not even: fit anew"
        require(even, where, "positivity", rule, self.positivity)
        self._check()

    def _solve_again(self) -> Self:
        return self._learn(self._fitted.kept, self._fit, self._polynomials, self._base)
