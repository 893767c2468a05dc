"""Conditional mean embedding: CME, low-rank or in full (paper, appendix)."""

from dataclasses import replace
from typing import Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Array, Vector, like, to_numpy
from jointdist._random import Seed
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.energy import energy_scores
from jointdist.distributions.signed import FewSupport, Laws, Support, units_of
from jointdist.distributions.support_points import Atoms, FewAtoms
from jointdist.errors import InfeasibleError, Text, require, require_kind
from jointdist.kernels import Delta, Kernel
from jointdist.lowrank.basis import Basis, host_features, side_basis
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.features import FeatureMap, kernel_matrix
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.novelty import TRUSTED, largest_kernel
from jointdist.lowrank.randomized import is_large
from jointdist.lowrank.reduction import Reduction
from jointdist.models.base import KernelEstimator
from jointdist.models.coefficients import require_arguments
from jointdist.programs import Objective, Solution, Status, closed_form, embedding
from jointdist.programs.embedding import Scope
from jointdist.projection.projector import TRIED, Isotonic, Projector
from jointdist.selection.config import Selection
from jointdist.selection.fold_moments import Side, paired_moments
from jointdist.selection.kernel_search import Factoring
from jointdist.selection.risk import Outcomes, Trial
from jointdist.selection.search import Contest

__all__ = ["CmePositivity", "ConditionalMeanEmbedding"]

CmePositivity: TypeAlias = Literal["projected", "isotonic", "none", "average", "sample"]

_MOST = 5_000  # rows of the full estimator
_LAW = 0.1  # mass of an embedding that says anything; less has no skill
_FEATURES = 64  # of Y, for laws of the full estimator that are made valid
_ALONE = 1 - 1e-9  # the leverage of a row, at most
_JITTER = 1e-13  # of the trace, that makes a kernel matrix definite


class ConditionalMeanEmbedding(KernelEstimator):
    r"""The conditional laws of Y given X as elements of a kernel space.

    The embedding :math:`\mu_{Y|X=x}`, Eq. `CMEeq1`, is estimated by ridge regression of
    :math:`k_Y(y, \cdot)` on x, Eq. `eq:traditional`. Its law at x is a weight on each of a
    few rows of Y, the pivots, Eq. `eq:lowrankprog`; in full, on every row,
    Eq. `eq:conditionaldistributionembedding`. These weights may be negative and need not
    sum to one, so that by default each law is replaced by the probability law of the sample
    that is nearest to it. With other kinds of ``positivity`` laws are as they are:
    :meth:`Conditional.mass <jointdist.Conditional.mass>` and ``negative_share`` tell, and
    expectations, and so :meth:`predict`, are not divided by the mass; as in any ridge
    regression without an intercept, they tend to zero where that is below one.

    There is no joint law: only that of Y given X can be asked.
    :class:`~jointdist.JointDistribution` has one, and is most often more accurate.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or "auto", default="auto"
        As in :class:`~jointdist.JointDistribution`. The full estimator does not need that
        of Y.
    regularization : float or "auto", default="auto"
        The ridge :math:`\lambda`, positive; by default chosen by ``selection``.
    tol, max_rank
        As in :class:`~jointdist.JointDistribution`; with constraints, ``tol`` holds for few
        rows too, as weights on pivots that are nearly alike would be huge.
    pivoting : {"auto", "rp", "greedy", "random", "column"}, default="auto"
        How pivots are chosen; see :func:`~jointdist.pivoted_cholesky`. Here ``"auto"`` is
        the paper's ``"greedy"`` up to 61,440 rows: laws on pivots that are well spread
        are more accurate, and the same whatever the seed.
    low_rank : bool, default=True
        Whether functions are evaluated at the pivots of Y only. Else at all rows, at
        most 5,000, with the inverse of the whole kernel matrix and without constraints.
    normalization : {"none", "average", "sample"}, default="none"
        Where the mass of the laws is one: on average over the sample, Eq. `normCME`, or
        at each of its rows, Eq. `normCMEfull`, which most often cannot be met.
    positivity : str, default="projected"
        ``"projected"``, ``"isotonic"``: laws are made valid when they are asked for, as in
        :class:`~jointdist.JointDistribution`; ``"projected"`` ones are on all rows of Y.
        ``"none"``, ``"average"``, ``"sample"``:
        where no weight is negative: nowhere, on average over the sample, Eq. `posCMEave`, or at
        each of its rows, Eq. `posCME`, which is Eq. `posCMEnaive` without what is zero
        anyway: seconds for 10,000 rows. With both at each row it is Eq. `optgenCME`.
    grid_rows : int, default=20_000
        The most rows on which ``"sample"`` holds; of more, on a random choice.
    selection : Selection, optional
        As in :class:`~jointdist.JointDistribution`; constraints do not take part. For the
        energy score what the mass falls short of one is at zero, where means go.
    random_state : int, Generator, RandomState, optional
        The seed of pivots and of choices of rows.
    executor : Executor, optional
        How row blocks are worked on.
    verbose : int, default=1
        Whether long work shows its progress, on a terminal.

    Attributes
    ----------
    coefficients_ : array of shape (m_Y, m_X)
        The coefficients :math:`\tilde F`, Eq. `dumeq0`; in full, :math:`F` for all rows.
    basis_x_, basis_y_ : Basis
        The bases, not centred; of Y only with low rank.
    solution_ : Solution
        The solution of the program. Where its status is ``INFEASIBLE``, nothing can be
        asked of the model.
    regularization_ : float
        The ridge.
    kernel_x_, kernel_y_ : Kernel
        The kernels.
    selection_ : Selected or None
        What was tried to find kernels and ridge, and how it fared.
    moments_ : Moments
        What the sample was reduced to; only with low rank.
    grid_rows_ : array of int
        The rows on which ``"sample"`` holds; empty otherwise.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X is a DataFrame.

    References
    ----------
    .. [1] Song, Huang, Smola, Fukumizu (2009). "Hilbert space embeddings of conditional
       distributions with applications to dynamical systems", ICML.
    .. [2] Grünewälder, Lever, Baldassarre, Patterson, Gretton, Pontil (2012).
       "Conditional mean embeddings as regressors", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=2000)
    >>> model = jd.ConditionalMeanEmbedding(random_state=0).fit(X, y)
    >>> dist = model.given([[1.0, 0.0]])
    >>> bool(0.7 < dist.mean()[0] < 1.3), bool(dist.negative_share()[0] > 0)
    (True, False)
    """

    def __init__(
        self,
        kernel_x: Kernel | str = "auto",
        kernel_y: Kernel | str = "auto",
        *,
        regularization: float | str = "auto",
        tol: float = 1e-3,
        max_rank: int | None = None,
        pivoting: Pivoting = "auto",
        low_rank: bool = True,
        normalization: Scope = "none",
        positivity: CmePositivity = "projected",
        grid_rows: int = 20_000,
        selection: Selection | None = None,
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
        self.low_rank = low_rank
        self.normalization = normalization
        self.positivity = positivity
        self.grid_rows = grid_rows
        self.selection = selection
        self.random_state = random_state
        self.executor = executor
        self.verbose = verbose

    def given(self, x: object) -> Conditional:
        """Return the law of Y for each row of ``x``: its expectations are Eq. `CMEeq1hat`.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d_x)
            Conditions on X; a vector if X has one column.
        """
        check_is_fitted(self)
        return Conditional(self._of_y(self._read_x("given", "x", x)))

    def _check(self) -> None:
        require_arguments(
            self._name,
            regularization=self.regularization,
            tol=self.tol,
            grid_rows=self.grid_rows,
        )
        require_kind(self._name, "normalization", self.normalization, Scope)
        require_kind(self._name, "positivity", self.positivity, CmePositivity)
        where, ridge = self._name, self.regularization
        require(ridge != 0, where, "regularization", "positive", ridge)
        known = isinstance(self.low_rank, bool)
        require(known, where, "low_rank", "True or False", self.low_rank)
        rule = 'another than "ratio", as there is no joint law'
        criterion = None if self.selection is None else self.selection.criterion
        require(criterion != "ratio", where, "selection", rule, self.selection)
        tried = None if self.selection is None else self.selection.regularizations
        rule = "of positive ridges"
        require(not tried or min(tried) > 0, where, "selection", rule, self.selection)
        for name, value in (
            ("normalization", self.normalization),
            ("positivity", self._scope),
        ):
            rule = '"none" if not `low_rank`, or laws made valid later'
            require(self.low_rank or value == "none", where, name, rule, value)

    @property
    def _scope(self) -> Scope:
        """Where the program asks for positive weights; valid laws are made later."""
        valid = self.positivity in ("projected", "isotonic")
        return "none" if valid else cast("Scope", self.positivity)

    def _factor(self, sample: Sample, rng: np.random.Generator) -> Self:
        self._was_free = self._free
        if self.low_rank:
            return super()._factor(sample, rng)
        for name in ("moments_", "basis_y_", "_reduction"):
            self.__dict__.pop(name, None)  # of an earlier fit with low rank
        return self._solve_in_full(sample.counted)

    def _changed(self, sign: int, part: Sample, sample: Sample) -> Self:
        known = self.low_rank and hasattr(self, "_reduction")
        if known and not self._to_rounding(self._rows):
            return super()._changed(sign, part, sample)
        self._check()
        return self._factor(sample, np.random.default_rng(self._seed))

    def _solve_again(self) -> Self:
        few = self.low_rank and super()._to_rounding(self._rows)
        if self.low_rank and (not few or self._free == self._was_free):
            return super()._solve_again()
        return self._factor(self._rows, np.random.default_rng(self._seed))

    def _to_rounding(self, sample: Sample) -> bool:
        return self._free and super()._to_rounding(sample)

    @property
    def _free(self) -> bool:
        """Whether there are no constraints; few rows are then factored to rounding."""
        return self.normalization == self._scope == "none"

    def _rule(self, sample: Sample) -> Pivoting:
        greedy = self.pivoting == "auto" and not is_large(sample.x)
        return "greedy" if greedy else self.pivoting

    def _solve(self, reduction: Reduction, sample: Sample) -> Self:
        self.basis_x_, self.basis_y_ = self._bases(reduction)
        self.moments_, self._reduction = reduction.moments, reduction
        V_x, V_y = to_numpy(self.basis_x_.rotation), to_numpy(self.basis_y_.rotation)
        self.regularization_ = ridge = self._ridge(sample)
        mean, goal = _objective(self.moments_, self.basis_x_, V_y, V_x, ridge)
        scopes = {self.normalization, self._scope}
        most = self.grid_rows if "sample" in scopes else 0
        self.grid_rows_ = sample.choose(most, self._seed)
        rows = sample.x.take(self.grid_rows_) if most else None
        if scopes == {"none"}:
            found = closed_form(goal)
        else:
            found = embedding(
                goal,
                to_numpy(self.basis_y_.map.core) @ V_y,
                mean,
                normalization=self.normalization,
                positivity=self._scope,
                features=None if rows is None else host_features(self.basis_x_, rows),
            )
        self._keep(found)
        weights = to_numpy(self.basis_y_.expansion) @ found.value
        pivots = self._reduction.y.map.landmarks
        return self._put(sample, pivots, weights)

    def _solve_in_full(self, sample: Sample) -> Self:
        """Invert the kernel matrix of all rows, weighted."""
        rule, got = f"at most {_MOST:,} rows without `low_rank`", Text(f"{sample.n:,}")
        require(sample.n <= _MOST, self._name, "X", rule, got)
        rows = sample.x.read(0, sample.n)
        w = np.ones(sample.n) if sample.weights is None else sample.weights
        n = float(w.sum())
        self.regularization_ = ridge = self._ridge(sample)
        K = to_numpy(kernel_matrix(self.kernel_x_, rows, rows))
        F = _inverse(K, np.minimum(n * ridge / w, 1e300))
        C = _root(K)
        features = FeatureMap(self.kernel_x_, rows, like(C, rows))
        self.basis_x_ = _plain(features)
        self.grid_rows_ = np.empty(0, dtype=np.intp)
        z = sample.y.read(0, sample.n)
        K_y = to_numpy(kernel_matrix(self.kernel_y_, z, z))
        self._keep(Solution(F, -float(w @ np.einsum("ij,ji->i", K_y @ F, K)) / n))
        self._full_weights = F @ C
        return self._put(sample, z, self._full_weights)

    def _put(self, sample: Sample, points: Array, weights: Vector) -> Self:
        """Keep the rows of Y that have weight; those that are equal count together."""
        executor = executor_for(sample.x, self.executor)
        self._support, self._which = _atoms(points, self._encodings[1], sample, executor)
        self._rows, self._weights = sample, _added(weights, self._which)
        self._most = largest_kernel(self.basis_x_.map, sample.x, sample.weights, executor)
        self._projectors: dict[str, Projector | Isotonic] = {}  # made when first needed
        return self

    def _trial(self, contest: Contest, x: Side, y: Side, part: int) -> Trial:
        sums, rows = paired_moments(x, y, part), contest.train(part)
        basis_x, basis_y = x.basis(part), y.basis(part)
        V_x, V_y = to_numpy(basis_x.rotation), to_numpy(basis_y.rotation)
        _, goal = _objective(sums, basis_x, V_y, V_x, 0.0)
        pivots, encoding = y.low.map.landmarks, self._encodings[1]
        executor = executor_for(rows.x, self.executor)
        support, which = y.remember(
            ("atoms", part), lambda: _atoms(pivots, encoding, rows, executor)
        )
        held = y.remember(
            ("outcomes", part), lambda: self._outcomes(support, contest.held(part))
        )
        weights = _added(to_numpy(basis_y.expansion), which)
        expansion = len(weights) * weights
        solve = lambda ridge: expansion @ closed_form(goal.at(ridge)).value  # noqa: E731
        return Trial(solve, x.psi(part), held)

    def _outcomes(self, support: FewSupport, held: Sample) -> Outcomes:
        """Return rows held out as embeddings on pivots of other rows see them.

        What signed laws lack is at zero, as of their means; what others lack, which are
        divided by their mass, amid the sample.
        """
        points, rest = to_numpy(held.y.read(0, held.n)), None
        if self.positivity != self._scope:
            every = support.sample
            rest = every.shares @ to_numpy(every.rows.read(0, every.n))
        weights = held.weights
        return Outcomes(support, points, weights, divided=False, offset=-1.0, rest=rest)

    def _unit(self, x: float, y: float) -> float:
        del y
        return x

    def _of_y(self, x: Rows) -> Laws:
        if self.solution_.status is Status.INFEASIBLE:
            msg = f"{self._name}: {self.solution_.status.value}"
            raise InfeasibleError(msg)
        H = len(self._weights) * self._weights.T
        executor, encoding = self._support.atoms.executor, self._encodings[0]
        own = {"offset": -1.0, "most": self._most}
        queries = Queries(x, self.basis_x_, H, executor, encoding, **own)
        if self.positivity == self._scope:
            return Laws(self._support, queries, divided=False)
        queries = replace(queries, trusted=TRUSTED * (1 - self.basis_x_.relative_error))
        if self.positivity not in self._projectors:
            self._projectors[self.positivity] = self._valid()
        return self._projectors[self.positivity].dists(Laws(self._support, queries))

    def _valid(self) -> Projector | Isotonic:
        """Return what makes laws valid, its ridge chosen by leaving rows out."""
        if self.positivity == "isotonic":
            return Isotonic.on(self._support, self._name)
        some = self._rows.typical(TRIED)
        points = to_numpy(self._rows.y.take(some.rows))
        basis = self.basis_y_ if self.low_rank else self._features_of_y()
        sums = _weighted_mean(basis, self._rows)
        executor = self._support.atoms.executor
        weights = self._rows.weights
        sample = Atoms(basis, self._encodings[1], self._rows.y, weights, sums, executor)
        projector = Projector.on(self._support, Support(sample))
        left_out = self._left_out(some.rows, some.own)
        return projector.tuned(left_out, points, some.weights)

    def _features_of_y(self) -> Basis:
        """Return a basis of Y for the full estimator, which has none."""
        rows, w = self._rows.y, self._rows.weights
        factoring = Factoring(0.0, _FEATURES, "greedy", self._seed)
        low = factoring.factored("kernel_y", self.kernel_y_, rows, w)
        phi = low.map.features(rows.read(0, rows.n))
        weighted = phi if w is None else phi * like(w, phi)[:, None]
        sums = like(to_numpy(weighted).sum(axis=0), phi)
        return side_basis(low, self._rows.size, sums, phi.T @ weighted, centred=False)

    def _left_out(self, rows: NDArray[np.intp], w: Vector) -> Vector:
        r"""Return the laws at rows of the sample by the model without each, in closed form.

        An embedding is a ridge regression, so that without row k, of weight w, it is
        :math:`(\hat\mu - h k_Y(y_k, \cdot)) / (1 - h)`, with the leverage h.
        """
        sample, n = self._rows, self._rows.size
        psi = host_features(self.basis_x_, sample.x.take(rows))
        if self.low_rank:
            c = to_numpy(self.basis_x_.eigenvalues) / n
            h = psi**2 @ (1 / (c + self.regularization_)) * w / n
            own = host_features(self.basis_y_, sample.y.take(rows))
            found = psi @ self.coefficients_.T
        else:
            found = psi @ to_numpy(self._full_weights).T
            whole = np.ones(len(rows)) if sample.weights is None else sample.weights[rows]
            h = found[np.arange(len(rows)), rows] * w / whole
            own = np.zeros_like(found)
            own[np.arange(len(rows)), rows] = 1.0
        h = np.minimum(h, _ALONE)[:, None]
        found = (found - h * own) / (1 - h)
        if self.low_rank:
            found = found @ to_numpy(self.basis_y_.expansion).T
        weights = _added(found.T, self._which)
        return len(weights) * weights.T - 1

    def _scores(self, x: Rows, y: Vector) -> tuple[Vector, Vector]:
        atoms, dists = self._support.sample, self._of_y(x)
        z = to_numpy(atoms.rows.read(0, atoms.n))
        unit = units_of(z, atoms.shares)
        marginal = Laws(Support(atoms), Fixed(np.empty((x.n, 0))))
        _, other = energy_scores(marginal, y, unit=unit)
        known = dists.masses() > _LAW
        if not known.any():
            return other, other
        own = other.copy()
        own[known], _ = energy_scores(dists.take(known), y[known], unit=unit)
        return own, other

    @property
    def _sample(self) -> Sample:
        return self._rows


def _objective(
    sums: Moments, x: Basis, V_y: Vector, V_x: Vector, ridge: float
) -> tuple[Vector, Objective]:
    """Return the means of the functions of X, and Eq. `eq:lowrankprog` over n."""
    n = sums.weight
    M = V_y.T @ to_numpy(sums.gram_yx) @ V_x / n
    c_x = to_numpy(x.eigenvalues) / n
    mean: Vector = V_x.T @ to_numpy(sums.sum_x) / n
    return mean, Objective(M, np.ones(len(M)), c_x, ridge)


def _inverse(K: Vector, ridge: Vector) -> Vector:
    """Return the inverse of the kernel matrix plus a diagonal."""
    whole = K.copy()
    whole[np.diag_indices_from(K)] += ridge
    try:
        inverse = cho_solve(cho_factor(whole), np.eye(len(K)))
    except LinAlgError:
        got = Text("one that rounding of the kernel matrix exceeds")
        rule = "so large that the kernel matrix can be inverted with it"
        require(False, "ConditionalMeanEmbedding", "regularization", rule, got)
        raise
    return np.asarray(inverse)


def _root(K: Vector) -> Vector:
    """Return the Cholesky factor of a kernel matrix, made definite."""
    jitter = _JITTER * max(float(np.trace(K)), np.finfo(float).tiny)
    while True:
        try:
            return np.asarray(cholesky(K + jitter * np.eye(len(K)), lower=True))
        except LinAlgError:
            jitter *= 10


def _atoms(
    points: Array, encoding: Encoding, sample: Sample, executor: Executor
) -> tuple[FewSupport, NDArray[np.intp]]:
    """Return the distinct points as atoms, and which of them each point is."""
    atoms, which = np.unique(to_numpy(points), axis=0, return_inverse=True)
    place = like(atoms, points)
    basis = _plain(FeatureMap(Delta(), place, like(np.eye(len(atoms)), points)))
    rows = Rows(place, sample.y.where, sample.y.name)
    mean = np.full(len(atoms), 1 / len(atoms))
    none = np.empty(0)
    every = Atoms(_nothing(place), encoding, sample.y, sample.weights, none, executor)
    few = FewAtoms(basis, encoding, rows, None, mean, executor, sample=every)
    return FewSupport(few), which.ravel()


def _weighted_mean(basis: Basis, sample: Sample) -> Vector:
    """Return the means of functions of Y over the sample."""
    w = np.full(sample.n, 1.0) if sample.weights is None else sample.weights
    z = sample.y.read(0, sample.n)
    mean: Vector = w @ host_features(basis, z) / w.sum()
    return mean


def _added(weights: Vector, which: NDArray[np.intp]) -> Vector:
    """Return the sums of the weights of equal points."""
    total = np.zeros((which.max() + 1, weights.shape[1]))
    np.add.at(total, which, weights)
    return total


def _nothing(place: Array) -> Basis:
    """Return a basis without functions."""
    return _plain(FeatureMap(Delta(), place[:0, :], like(np.empty((0, 0)), place)))


def _plain(features: FeatureMap) -> Basis:
    """Return features as they are, as a basis."""
    core = features.core
    m = features.rank
    eye = like(np.eye(m), core)
    ones, zeros = like(np.ones(m), core), like(np.zeros(m), core)
    return Basis(features, eye, ones, zeros, np.empty(0, np.intp), 0.0, 0.0)
