"""The estimator with polynomials: JPDL (paper, appendix *Polynomial distributions*)."""

import warnings
from math import comb
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdist._array import array_namespace, device
from jointdist.atoms import Vector, host_features
from jointdist.basis import Basis
from jointdist.errors import ToleranceWarning, Words, is_whole, require, require_kind
from jointdist.estimator import JointEstimator
from jointdist.executor import Executor, executor_for
from jointdist.features import Features
from jointdist.fitting import (
    Marginals,
    PolynomialPositivity,
    Problem,
    objective,
    require_arguments,
    solve,
    solve_squares,
)
from jointdist.joint import Joint
from jointdist.moments import Moments
from jointdist.polynomials import PolynomialMap, Polynomials, orthonormal_polynomials
from jointdist.sample import Sample
from jointdist.search import Seed
from jointdist.selection import Selection
from jointdist.target import y_for_Y

__all__ = ["PolynomialJointDistribution"]

_MOST = 2048  # functions of a side
_ROWS = 8192  # of a block
_FAINT = 1e-3  # of the noise, what is taken for a signal at least


class PolynomialJointDistribution(JointEstimator):
    r"""The joint law of X and Y with a polynomial ratio, learned from paired rows.

    The ratio :math:`1 + h(x, y)` of the joint law to the product of the two samples is a
    polynomial of degree :math:`q` in x and :math:`q` in y. The inner product is that of
    the sample, so that the basis is orthonormal by construction, nothing is lost to low
    rank, and the objective is Eq. `eq:polynomial`. It suits smooth dependence of a few
    columns without heavy tails, and takes many more rows than functions: with fewer than
    ten times as many, a lower degree is better. Far from the sample polynomials say
    little, and :meth:`Conditional.novelty <jointdist.Conditional.novelty>` tells where.

    Parameters
    ----------
    degree : int, default=4
        The total degree :math:`q` of the polynomials on each side; even for sums of
        squares. Of the :math:`\binom{d + q}{q}` functions of :math:`d` columns, those
        that others make up on the sample are dropped, with a warning. Where there would
        be more than 2,048, the degree of that side is lowered, with a warning too.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`: all coefficients are divided by :math:`1 + \lambda`. By
        default the ratio of noise to signal in the sample's moments.
    marginals : {"total", "exact", "free"}, default="total"
        As in :class:`~jointdist.JointDistribution`. Without positivity all three are the
        same model, and its marginals are those of the sample.
    positivity : {"none", "sos", "tightened", "grid"}, default="none"
        ``"none"``: weights may be negative; closed form.
        ``"sos"``: the ratio is a sum of squares, Eq. `eq:semdefcone`, and so positive for
        every x and y, with the matrix that proves it, ``solution_.gram``. Up to a second
        for three columns on each side, a minute for four with heavy tails; beyond that it
        may end before the optimum. Where functions were dropped, it is positive at all
        points at which the sample's relations hold.
        ``"tightened"``, ``"grid"``: as in :class:`~jointdist.JointDistribution`.
    grid_rows : int, default=20_000
        The most rows on whose grid ``"grid"`` holds.
    random_state : int, Generator, RandomState, optional
        The seed of choices of rows.
    executor : Executor, optional
        How row blocks are worked on.

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
    >>> law = model.given(x=[[1.0, 0.0]])
    >>> bool(0.5 < law.mean()[0] < 1.5)
    True
    """

    def __init__(
        self,
        degree: int = 4,
        *,
        regularization: float | str = "auto",
        marginals: Marginals = "total",
        positivity: PolynomialPositivity = "none",
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
        where, got = f"{self._name}.squares", Words(f"{self.positivity!r} in `fit`")
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
        where, whole = self._name, is_whole(self.degree, least=1)
        require(whole, where, "degree", "an integer of at least 1", self.degree)
        if self.positivity != "sos":
            return
        even = self.degree % 2 == 0
        require(even, where, "degree", 'even for positivity "sos"', self.degree)
        rule = (
            '"total" or "free" for positivity "sos", as a polynomial that is positive '
            "everywhere and has mean one for each x does not depend on x"
        )
        require(self.marginals != "exact", where, "marginals", rule, self.marginals)

    def _learn(self, sample: Sample, rng: np.random.Generator) -> Self:
        del rng  # the seed decides on rows
        for name, coding in zip("XY", self._codings, strict=True):
            words = [coding.label(i) for i, known in enumerate(coding.categories) if known]
            got = Words(f"words in column {', '.join(words)}; give indicators of them")
            require(coding.numeric, self._name, name, "numbers", got)
        self.selection_ = None
        self.degrees_ = self._degrees(sample)
        return self._solve(self._orthonormal(sample), sample)

    def _degrees(self, sample: Sample) -> tuple[int, int]:
        return self._degree("X", sample.x.d), self._degree("Y", sample.y.d)

    def _degree(self, name: str, d: int) -> int:
        """Return the degree asked for, or the highest that columns are not too many for."""
        step = 2 if self.positivity == "sos" else 1
        degree = self.degree
        while degree > step and comb(degree + d, degree) > _MOST:
            degree -= step
        m, rule = comb(degree + d, degree), f"of at most {_MOST:,} functions"
        require(m <= _MOST, self._name, name, rule, Words(f"{m:,}, from {d} columns"))
        if degree < self.degree:
            msg = (
                f"{self._name}: polynomials of degree {self.degree} in the {d} columns of "
                f"{name} would be {comb(self.degree + d, d):,}; their degree is {degree}."
            )
            warnings.warn(msg, ToleranceWarning, stacklevel=5)
        return degree

    def _relearn(self, sums: Moments, sample: Sample) -> Self:
        old, self.degrees_ = self.degrees_, self._degrees(sample)
        same = old == self.degrees_
        found = self._polynomials.changed(sums) if same else None
        return self._solve(self._orthonormal(sample) if found is None else found, sample)

    def _orthonormal(self, sample: Sample) -> Polynomials:
        rows = sample.x, sample.y, sample.weights
        executor = self._executor(sample)
        return orthonormal_polynomials(
            self.degrees_, *rows, seed=self._seed, executor=executor
        )

    def _executor(self, sample: Sample) -> Executor:
        """Return the executor given, or one with blocks for few functions."""
        ours = self.executor is None and sample.x.in_host_memory
        return executor_for(sample.x, Executor(block_rows=_ROWS) if ours else self.executor)

    def _solve(self, found: Polynomials, sample: Sample) -> Self:
        """Solve for the coefficients, and prepare the laws of both sides."""
        self._polynomials, self.moments_ = found, found.moments
        self.dropped_, weight = found.dropped, found.moments.weight
        if any(found.dropped):
            msg = (
                f"{self._name}: {found.dropped[0]} functions of X and {found.dropped[1]} of "
                "Y are combinations of others on the sample, and were dropped. A lower "
                "`degree` needs fewer."
            )
            if self.positivity == "sos":
                msg += " The ratio is positive where these relations hold, not everywhere."
            warnings.warn(msg, ToleranceWarning, stacklevel=5)
        centred = self.marginals == "exact"
        self.basis_x_ = _orthonormal_basis(found.x, weight, centred=centred)
        self.basis_y_ = _orthonormal_basis(found.y, weight, centred=centred)
        self.kernel_x_, self.kernel_y_ = found.x.kernel, found.y.kernel
        problem = Problem(
            self.basis_x_,
            self.basis_y_,
            self.moments_,
            sample,
            self.marginals,
            self._executor(sample),
        )
        auto = self.regularization == "auto"
        self.regularization_ = _ridge(problem) if auto else float(self.regularization)
        most = self.grid_rows if self.positivity == "grid" else 0
        self.grid_rows_ = sample.choose(most, self._seed)
        ridge, grid = self.regularization_, self.grid_rows_
        if self.positivity == "sos":
            solution, self._factors = solve_squares(problem, ridge)
            self._keep(solution)
        else:
            self._keep(solve(problem, ridge, self.positivity, grid=grid))
        self._joint = Joint(problem, *self._codings, self.coefficients_)
        return self

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


def _ridge(problem: Problem) -> float:
    r"""Return the ratio of noise to signal in the covariances of the functions.

    Each of the covariances has a variance of about :math:`1 / n`. Divided by
    :math:`1 + \lambda` they are then nearest to the true ones in the mean.
    """
    b = objective(problem, 0.0).b
    noise = (b.shape[0] - 1) * (b.shape[1] - 1) / problem.moments.weight
    if noise <= 0:
        return 0.0
    return float(noise / max(np.sum(b * b) - noise, _FAINT * noise))
