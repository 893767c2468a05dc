"""Joint polynomial distribution learning, JPDL (paper, appendix *Polynomial distributions*)."""

from collections.abc import Callable
from math import comb
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Vector
from jointdist._rules import Seed, Text, is_whole, require, require_kind
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.polynomials import Polynomials, orthonormal_polynomials
from jointdist.models._arguments import (
    PairedData,
    read_pair,
    require_arguments,
    require_numbers_alone,
    y_for_Y,
)
from jointdist.models.coefficients import Marginals, PolynomialPositivity, solve
from jointdist.models.degrees import ChosenDegree, DegreeSearch, select_degree
from jointdist.models.joint import Joint
from jointdist.models.joint_estimator import JointEstimator
from jointdist.models.polynomial_problem import (
    Factors,
    feasible_degrees,
    polynomial_executor,
    polynomial_problem,
    solve_squares,
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
    selection : Selection, optional
        How degree and ridge are chosen if they are not given; as in
        :class:`~jointdist.JointDistribution`. Of the constraints only ``"tightened"`` takes
        part.
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
    _factors: Factors | None

    def __init__(
        self,
        degree: int | str = "auto",
        *,
        regularization: float | str = "auto",
        marginals: Marginals = "total",
        positivity: PolynomialPositivity = "projected",
        grid_rows: int = 20_000,
        selection: Selection | None = None,
        random_state: Seed = None,
        executor: Executor | None = None,
        verbose: int = 1,
    ) -> None:
        self.degree = degree
        self.regularization = regularization
        self.marginals = marginals
        self.positivity = positivity
        self.grid_rows = grid_rows
        self.selection = selection
        self.random_state = random_state
        self.executor = executor
        self.verbose = verbose

    @y_for_Y
    def fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Learn the joint distribution.

        Parameters
        ----------
        X, Y, sample_weight
            As in :meth:`JointDistribution.fit <jointdist.JointDistribution.fit>`; numeric
            columns only.

        Returns
        -------
        PolynomialJointDistribution
            The model itself.
        """
        self._check()
        data = read_pair(self._name, X, Y, sample_weight, self.random_state)
        self._require_numbers(data)
        chosen = select_degree(data, self._search())
        degrees = self._degrees(chosen, data.sample)
        functions = self._orthonormal(data, degrees)
        return self._solve(data, chosen, degrees, functions)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = False
        return tags

    def _check(self) -> None:
        require_selection(self._name, self.selection, self.verbose)
        require_arguments(
            self._name, regularization=self.regularization, grid_rows=self.grid_rows
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

    def _require_numbers(self, data: PairedData) -> None:
        """Raise if a column is categorical."""
        require_numbers_alone(self._name, self.positivity, data.encodings)
        for name, encoding in zip("XY", data.encodings, strict=True):
            labels = [
                encoding.label(i) for i, known in enumerate(encoding.categories) if known
            ]
            got = Text(f"categories in column {', '.join(labels)}; give indicators of them")
            require(encoding.numeric, self._name, name, "numbers", got)

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
        x, y = feasible_degrees(self._name, sample, asked, self._step)
        for name, degree, d in ("X", x, sample.x.d), ("Y", y, sample.y.d):
            if degree < asked:
                msg = (
                    f"{self._name}: polynomials of degree {asked} in the {d} columns of "
                    f"{name} would be {comb(asked + d, d):,}; their degree is {degree}."
                )
                warn_user(msg, ToleranceWarning)
        return x, y

    def _orthonormal(self, data: PairedData, degrees: tuple[int, int]) -> Polynomials:
        rows, executor = data.sample, polynomial_executor(data.sample, self.executor)
        return orthonormal_polynomials(
            degrees, rows.x, rows.y, rows.weights, seed=data.seed, executor=executor
        )

    def _solve(
        self,
        data: PairedData,
        chosen: ChosenDegree,
        degrees: tuple[int, int],
        functions: Polynomials,
    ) -> Self:
        """Solve for the coefficients, Eq. `eq:polynomial`, and keep them."""
        self._warn_of_relations(functions)
        problem = polynomial_problem(functions, data.sample, self.marginals, self.executor)
        ridge = self._ridge(chosen, data.sample)
        most = self.grid_rows if self.positivity == "grid" else 0
        grid = data.sample.choose(most, data.seed)
        found: Solution
        factors: Factors | None = None
        if self.positivity == "sos":
            found, factors = solve_squares(problem, functions, ridge)
        else:
            found = solve(problem, ridge, self.positivity, grid=grid)
        joint = Joint(problem, data.encodings, found, self.positivity, ridge, grid)
        return self._keep(
            data,
            chosen,
            joint.solution,
            _fitted=joint,
            basis_x_=joint.problem.x,
            basis_y_=joint.problem.y,
            moments_=joint.problem.moments,
            regularization_=joint.ridge,
            grid_rows_=joint.grid,
            kernel_x_=functions.x.kernel,
            kernel_y_=functions.y.kernel,
            degrees_=degrees,
            dropped_=functions.dropped,
            _polynomials=functions,
            _factors=factors,
        )

    def _warn_of_relations(self, functions: Polynomials) -> None:
        """Warn if functions were dropped that the user has asked for."""
        dropped, squares = functions.dropped, self.positivity == "sos"
        if not any(dropped) or not (squares or not isinstance(self.degree, str)):
            return
        msg = (
            f"{self._name}: {dropped[0]} functions of X and {dropped[1]} of "
            "Y are combinations of others on the sample, and were dropped. A lower "
            "`degree` needs fewer."
        )
        if squares:
            msg += " The ratio is positive where these relations hold, not everywhere."
        warn_user(msg, ToleranceWarning)

    def _update(self, sums: Callable[[], Moments], data: PairedData) -> Self:
        changed, degrees = sums(), self._degrees(self._chosen, data.sample)
        same = degrees == self.degrees_
        functions = self._polynomials.changed(changed) if same else None
        if functions is None:
            functions = self._orthonormal(data, degrees)
        return self._solve(data, self._chosen, degrees, functions)

    def _solve_again(self) -> Self:
        even = self.positivity != "sos" or not any(degree % 2 for degree in self.degrees_)
        rule = f"another than 'sos', as degrees {self.degrees_} are not even: fit anew"
        require(even, f"{self._name}.refit", "positivity", rule, self.positivity)
        return self._solve(self._data, self._chosen, self.degrees_, self._polynomials)
