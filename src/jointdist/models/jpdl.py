"""The estimator with polynomials: JPDL (paper, appendix *Polynomial distributions*)."""

import warnings
from math import comb
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Vector, array_namespace, device
from jointdist._progress import progress
from jointdist._random import Seed
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.errors import Text, ToleranceWarning, is_whole, require, require_kind
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.polynomials import (
    PolynomialMap,
    Polynomials,
    orthonormal_polynomials,
)
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.reduction import moments
from jointdist.models._sklearn import y_for_Y
from jointdist.models.base import JointEstimator
from jointdist.models.coefficients import (
    Marginals,
    PolynomialPositivity,
    Problem,
    path,
    require_arguments,
    solve,
    solve_squares,
)
from jointdist.models.joint import Joint, held_outcomes
from jointdist.selection.config import Selection
from jointdist.selection.fold_moments import sum_without
from jointdist.selection.risk import Trial
from jointdist.selection.search import Contest

__all__ = ["PolynomialJointDistribution"]

_MOST = 2048  # functions of a side
_ROWS = 8192  # of a block
_HIGHEST = 4  # degree that is tried
_PER_FUNCTION = 2  # rows at least, for a degree that is tried
_UNIT = 10.0  # of the ridges that are tried: from 1e-6 to 1e3
_STRENGTH = 0.0  # of the ridge where all rows are equal


class PolynomialJointDistribution(JointEstimator):
    r"""The joint law of X and Y with a polynomial ratio, learned from paired rows.

    The ratio :math:`1 + h(x, y)` of the joint law to the product of the two samples is a
    polynomial of degree :math:`q` in x and :math:`q` in y. The inner product is that of
    the sample, so that the basis is orthonormal by construction, nothing is lost to low
    rank, and the objective is Eq. `eq:polynomial`. It suits smooth dependence of a few
    columns without heavy tails, and takes many more rows than functions. Far from the
    sample polynomials say little, and
    :meth:`Conditional.novelty <jointdist.Conditional.novelty>` tells where.

    Parameters
    ----------
    degree : int or "auto", default="auto"
        The total degree :math:`q` of the polynomials on each side; even for sums of
        squares. By default one of up to four, chosen by ``selection``. Of the
        :math:`\binom{d + q}{q}` functions of :math:`d` columns, those that others make up
        on the sample are dropped, with a warning if the degree was given or positivity is
        at stake. Where there would be more than 2,048, the degree of that side is lowered,
        with a warning too.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`: all coefficients are divided by :math:`1 + \lambda`. By
        default chosen by ``selection``.
    marginals : {"total", "exact", "free"}, default="total"
        As in :class:`~jointdist.JointDistribution`. Without positivity all three are the
        same model, and its marginals are those of the sample.
    positivity : str, default="projected"
        ``"projected"``, ``"isotonic"``: laws are made valid when they are asked for, as in
        :class:`~jointdist.JointDistribution`; ``"projected"`` ones have the means of the
        polynomials as nearly as a law can, those of Y and of its products first.
        ``"none"``: weights may be negative; closed form.
        ``"sos"``: the ratio is a sum of squares, Eq. `eq:semdefcone`, and so positive for
        every x and y, with the matrix that proves it, ``solution_.gram``. Up to a second
        for three columns on each side, a minute for four with heavy tails; beyond that it
        may end before the optimum. Where functions were dropped, it is positive at all
        points at which the sample's relations hold.
        ``"tightened"``, ``"grid"``: as in :class:`~jointdist.JointDistribution`.
    grid_rows : int, default=20_000
        The most rows on whose grid ``"grid"`` holds.
    selection : Selection, optional
        How degree and ridge are chosen, if they are; as in
        :class:`~jointdist.JointDistribution`. Of the constraints only ``"tightened"`` takes
        part.
    random_state : int, Generator, RandomState, optional
        The seed of choices of rows.
    executor : Executor, optional
        How row blocks are worked on.
    verbose : int, default=1
        Whether long work shows its progress, on a terminal.

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
        What the sample was reduced to.
    selection_ : Selected or None
        What was tried to find degree and ridge, and how it fared.
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
    def squares(self, X: object, Y: object) -> Vector:
        r"""Return the sum of squares :math:`\tau_q A \tau_q^\top` at pairs of rows.

        From the Gram matrix ``solution_.gram`` alone: it equals :meth:`ratio`, and proves
        that this is positive if the matrix has no negative eigenvalue. Where functions
        were dropped, it does so at the points where the sample's relations hold.

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
        a = host_features(self.basis_y_, y.read(0, y.n))[:, self._factors[0]]
        b = host_features(self.basis_x_, x.read(0, x.n))[:, self._factors[1]]
        z = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
        found: Vector = np.sum((z @ gram) * z, axis=1)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = False
        return tags

    def _check(self) -> None:
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

    def _learn(self, sample: Sample, rng: np.random.Generator) -> Self:
        del rng  # the seed decides on rows
        for name, encoding in zip("XY", self._encodings, strict=True):
            words = [
                encoding.label(i) for i, known in enumerate(encoding.categories) if known
            ]
            got = Text(f"words in column {', '.join(words)}; give indicators of them")
            require(encoding.numeric, self._name, name, "numbers", got)
        self._choose(sample)
        self.degrees_ = self._degrees(sample)
        return self._solve(self._orthonormal(sample, self.degrees_), sample)

    def _choose(self, sample: Sample) -> None:
        """Choose degree and ridge: those given, or the best on rows held out."""
        self.selection_, self._strength = None, _STRENGTH
        self._chosen, given = self._step, not isinstance(self.degree, str)
        if given and self.regularization != "auto":
            return
        how = Selection() if self.selection is None else self.selection
        with progress(f"{self._name}: degree and ridge", verbose=self.verbose) as tell:
            executor = self._executor(sample)
            contest = Contest(self._name, how, sample, self._seed, tell, executor=executor)
            if not contest.folds:
                return  # all rows are equal
            for degree in self._tried(contest):
                self._enter(contest, degree)
            self.selection_ = contest.result()
        self._chosen = self.selection_.chosen.degree or self._chosen
        self._strength = self.selection_.regularization * sample.size

    def _tried(self, contest: Contest) -> list[int]:
        """Return the degree given, or those whose functions are few enough for the rows."""
        if not isinstance(self.degree, str):
            return [self.degree]
        widths, step = (contest.sample.x.d, contest.sample.y.d), self._step
        most = min(_MOST, contest.size / _PER_FUNCTION)
        degrees = range(step, _HIGHEST + 1, step)
        few = [q for q in degrees if max(comb(d + q, q) for d in widths) <= most]
        return few or [step]

    def _enter(self, contest: Contest, degree: int) -> None:
        """Judge a degree, for all ridges."""
        degrees = self._lowered(contest.sample, degree)
        every = self._orthonormal(contest.sample, degrees)
        parts = [
            moments(every.x, every.y, own.x, own.y, sample_weight=own.weights)
            for own in map(contest.held, range(len(contest.parts)))
        ]

        def trial(part: int) -> Trial:
            train, held = contest.train(part), contest.held(part)
            found = every.changed(sum_without(parts, part, contest.group))
            found = self._orthonormal(train, degrees) if found is None else found
            problem = self._problem(found, train)
            psi_x, psi_y = (
                host_features(basis, side.read(0, held.n))
                for basis, side in ((problem.x, held.x), (problem.y, held.y))
            )
            outcomes = held_outcomes(problem, self._encodings, held, psi_y)
            return Trial(path(problem, self.positivity), psi_x, outcomes)

        unit = _UNIT * contest.size  # functions have mean square one, whatever n
        ridges = contest.ridges(self.regularization, unit)
        ranks = {"rank_x": every.x.rank, "rank_y": every.y.rank}
        contest.enter(trial, ridges, degree=degree, **ranks)

    @property
    def _step(self) -> int:
        return 2 if self.positivity == "sos" else 1

    def _degrees(self, sample: Sample) -> tuple[int, int]:
        """Return the degrees of both sides, with a warning where one is lowered."""
        asked = self._chosen if isinstance(self.degree, str) else self.degree
        x, y = self._lowered(sample, asked)
        for name, degree, d in ("X", x, sample.x.d), ("Y", y, sample.y.d):
            if degree < asked:
                msg = (
                    f"{self._name}: polynomials of degree {asked} in the {d} columns of "
                    f"{name} would be {comb(asked + d, d):,}; their degree is {degree}."
                )
                warnings.warn(msg, ToleranceWarning, stacklevel=5)
        return x, y

    def _lowered(self, sample: Sample, asked: int) -> tuple[int, int]:
        """Return for each side the degree, or the highest of not too many functions."""
        found = []
        for name, d in ("X", sample.x.d), ("Y", sample.y.d):
            degree = asked
            while degree > self._step and comb(degree + d, degree) > _MOST:
                degree -= self._step
            m, rule = comb(degree + d, degree), f"of at most {_MOST:,} functions"
            require(m <= _MOST, self._name, name, rule, Text(f"{m:,}, from {d} columns"))
            found.append(degree)
        return found[0], found[1]

    def _relearn(self, sums: Moments, sample: Sample) -> Self:
        old, self.degrees_ = self.degrees_, self._degrees(sample)
        same = old == self.degrees_
        found = self._polynomials.changed(sums) if same else None
        if found is None:
            found = self._orthonormal(sample, self.degrees_)
        return self._solve(found, sample)

    def _solve_again(self) -> Self:
        even = self.positivity != "sos" or not any(degree % 2 for degree in self.degrees_)
        rule = f"another than 'sos', as degrees {self.degrees_} are not even: fit anew"
        require(even, f"{self._name}.refit", "positivity", rule, self.positivity)
        return self._solve(self._polynomials, self._sample)

    def _orthonormal(self, sample: Sample, degrees: tuple[int, int]) -> Polynomials:
        rows = sample.x, sample.y, sample.weights
        executor = self._executor(sample)
        return orthonormal_polynomials(degrees, *rows, seed=self._seed, executor=executor)

    def _executor(self, sample: Sample) -> Executor:
        """Return the executor given, or one with blocks for few functions."""
        ours = self.executor is None and sample.x.in_host_memory
        return executor_for(sample.x, Executor(block_rows=_ROWS) if ours else self.executor)

    def _solve(self, found: Polynomials, sample: Sample) -> Self:
        """Solve for the coefficients, and prepare the laws of both sides."""
        self._polynomials, self.moments_ = found, found.moments
        self.dropped_ = found.dropped
        told = self.positivity == "sos" or not isinstance(self.degree, str)
        if any(found.dropped) and told:
            msg = (
                f"{self._name}: {found.dropped[0]} functions of X and {found.dropped[1]} of "
                "Y are combinations of others on the sample, and were dropped. A lower "
                "`degree` needs fewer."
            )
            if self.positivity == "sos":
                msg += " The ratio is positive where these relations hold, not everywhere."
            warnings.warn(msg, ToleranceWarning, stacklevel=5)
        self.kernel_x_, self.kernel_y_ = found.x.kernel, found.y.kernel
        problem = self._problem(found, sample)
        self.basis_x_, self.basis_y_ = problem.x, problem.y
        self.regularization_ = self._ridge(sample)
        most = self.grid_rows if self.positivity == "grid" else 0
        self.grid_rows_ = sample.choose(most, self._seed)
        ridge, grid = self.regularization_, self.grid_rows_
        if self.positivity == "sos":
            solution, self._factors = solve_squares(problem, ridge)
            self._keep(solution)
        else:
            self._keep(solve(problem, ridge, self.positivity, grid=grid))
        self._joint = Joint(
            problem, *self._encodings, self.coefficients_, self.positivity, ridge
        )
        return self

    def _problem(self, found: Polynomials, sample: Sample) -> Problem:
        weight, centred = found.moments.weight, self.marginals == "exact"
        return Problem(
            _orthonormal_basis(found.x, weight, centred=centred),
            _orthonormal_basis(found.y, weight, centred=centred),
            found.moments,
            sample,
            self.marginals,
            self._executor(sample),
        )

    @property
    def _maps(self) -> tuple[Features, Features]:
        return self._polynomials.x, self._polynomials.y


def _orthonormal_basis(functions: PolynomialMap, weight: float, *, centred: bool) -> Basis:
    """Return the polynomials as a basis; if centred, the constant becomes zero."""
    core = functions.core
    xp = array_namespace(core)
    eye = xp.eye(functions.rank, dtype=core.dtype, device=device(core))
    constant = eye[0, :] if centred else xp.zeros_like(eye[0, :])
    squares = (1 - constant) * weight
    return Basis(functions, eye, squares, constant, np.empty(0, np.intp), 0.0, 0.0)
