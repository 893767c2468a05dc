"""Conditional mean embedding, CME: low-rank or full (paper, appendix)."""

from dataclasses import replace
from functools import partial
from typing import Literal, Self, TypeAlias, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdist._array import Index, to_numpy
from jointdist._rules import Seed, require_kind
from jointdist.data.executor import Executor, executor_for, executor_like
from jointdist.distributions.conditional import Conditional
from jointdist.kernels import Kernel
from jointdist.lowrank.basis import Basis, double_orthogonal, host_features
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.randomized import SUBSAMPLE
from jointdist.lowrank.reduction import Reduced, reduce_sample
from jointdist.models._arguments import (
    PairedData,
    require_arguments,
    require_numbers_alone,
    y_for_Y,
)
from jointdist.models._embedding_arguments import require_embedding
from jointdist.models._kernel_fits import (
    factoring,
    fit_options,
    is_exact,
    warn_if_lost,
    warn_if_missed,
)
from jointdist.models.base import DistributionEstimator, Fit
from jointdist.models.embedding import Embedding, SolvedEmbedding, fit_embedding
from jointdist.models.embedding_trials import embedding_objective, fit_without
from jointdist.models.event_rows import require_one
from jointdist.models.full_embedding import full_embedding
from jointdist.models.kept_sample import KeptSample, support_plan
from jointdist.programs import Solution, closed_form, embedding
from jointdist.programs.embedding import Scope
from jointdist.selection.kernel_search import Chosen, KernelSearch, select_kernels
from jointdist.selection.specification import Selection, require_selection

__all__ = ["CmePositivity", "ConditionalMeanEmbedding"]

CmePositivity: TypeAlias = Literal["projected", "isotonic", "none", "average", "sample"]


class ConditionalMeanEmbedding(DistributionEstimator):
    r"""The conditional distributions of Y given X as elements of a kernel space.

    The embedding :math:`\mu_{Y|X=x}`, Eq. `CMEeq1`, is the conditional mean of
    :math:`k_Y(Y, \cdot)`, estimated by ridge regression on x, Eq. `eq:traditional`. It puts
    a weight on each of a few rows of Y, the pivots, Eq. `eq:lowrankprog`; the full estimator
    puts one on every row, Eq. `eq:conditionaldistributionembedding`. These weights may be
    negative and need not sum to one. By default each distribution is therefore projected
    onto the proper distributions on the sample. With other values of ``positivity``
    distributions stay signed: :meth:`Conditional.mass <jointdist.Conditional.mass>` and
    ``negative_share`` measure how far they are from proper, and expectations, and so
    :meth:`predict`, are not divided by the mass; as in any ridge regression without an
    intercept, they tend to zero where the mass is below one.

    There is no joint distribution: only Y given X can be asked.
    :class:`~jointdist.JointDistribution` has both directions, and is most often more
    accurate.

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
        the paper's ``"greedy"`` up to 61,440 rows: well spread pivots make distributions
        more accurate, and they do not depend on the seed.
    low_rank : bool, default=True
        Whether functions are evaluated at the pivots of Y only. Else at all rows, at
        most 5,000, with the inverse of the whole kernel matrix and without constraints.
    normalization : {"none", "average", "sample"}, default="none"
        Where distributions have mass one: on average over the sample, Eq. `normCME`, or
        at each of its rows, Eq. `normCMEfull`, which most often cannot be met.
    positivity : str, default="projected"
        ``"projected"``, ``"isotonic"``: distributions are projected, as in
        :class:`~jointdist.JointDistribution`; ``"projected"`` ones have weights on all rows
        of Y.
        ``"none"``, ``"average"``, ``"sample"``: where weights are constrained to be
        non-negative: nowhere, on average over the sample, Eq. `posCMEave`, or at each of its
        rows, Eq. `posCME`, which is Eq. `posCMEnaive` without the terms that vanish: seconds
        for 10,000 rows. With ``normalization="sample"`` too, the program is
        Eq. `optgenCME`.
    grid_rows : int, default=20_000
        The most rows on which ``"sample"`` holds; of more, on a random choice.
    support_size : int, default=65_536
        As in :class:`~jointdist.JointDistribution`.
    selection : Selection, optional
        As in :class:`~jointdist.JointDistribution`; constraints do not take part. For the
        energy score the missing mass is put at zero, as it is for means.
    missing, unknown : str
        As in :class:`~jointdist.JointDistribution`.
    random_state : int, Generator, RandomState, optional
        The seed of pivots and of random choices of rows.
    executor : Executor, optional
        How row blocks are computed.
    verbose : int, default=1
        Whether long computations show their progress on a terminal.

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
        All kernels and ridges that were tried, with their scores.
    moments_ : Moments
        The sums over all rows from which the model was solved; only with low rank.
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

    grid_rows_: Index
    kernel_x_: Kernel
    kernel_y_: Kernel
    _chosen: Chosen
    _fitted: Embedding  # pyrefly: ignore[bad-override-mutable-attribute]
    _reduction: Reduced
    _few: bool  # whether landmarks were chosen from so few rows that factors are exact
    _was_free: bool

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
        self.low_rank = low_rank
        self.normalization = normalization
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
        """Learn the conditional distributions.

        Parameters
        ----------
        X, Y, sample_weight, groups
            As in :meth:`JointDistribution.fit <jointdist.JointDistribution.fit>`.

        """
        self._check()
        data = self._read_fit(X, Y, sample_weight, groups)
        require_numbers_alone(self._name, self.positivity, data.encodings[1:])
        chosen = select_kernels(data.sample, data.encodings, self._search(data), data.rng)
        return self._learn_anew(data, Fit.of(chosen, data))

    def given(self, x: object = None, *, where: object = None) -> Conditional:
        """Return the distribution of Y for each row of ``x``, with means Eq. `CMEeq1hat`.

        Parameters
        ----------
        x : array, DataFrame, dict or sequence of shape (q, d_x), optional
            Conditions on X; a vector if X has one column.
        where : str, callable, or array of shape (n,), optional
            An event in terms of X, as in :class:`~jointdist.JointDistribution`.
        """
        check_is_fitted(self)
        require_one(f"{self._name}.given", x=x, where=where)
        return self._given_where(where) if x is None else self._given_x(x)

    def _check(self) -> None:
        require_selection(self._name, self.selection, self.verbose)
        require_arguments(
            self._name,
            regularization=self.regularization,
            tol=self.tol,
            grid_rows=self.grid_rows,
            support_size=self.support_size,
        )
        require_kind(self._name, "normalization", self.normalization, Scope)
        require_kind(self._name, "positivity", self.positivity, CmePositivity)
        require_embedding(self, self._name, self._scope)

    @property
    def _scope(self) -> Scope:
        """Where the program asks for positive weights; projections come later."""
        return "none" if self._is_projected else cast("Scope", self.positivity)

    @property
    def _is_projected(self) -> bool:
        """Whether distributions are projected when they are evaluated."""
        return self.positivity in ("projected", "isotonic")

    @property
    def _is_free(self) -> bool:
        """Whether there are no constraints; few rows are then factored to rounding."""
        return self.normalization == self._scope == "none"

    def _pivoting(self, rows: int) -> Pivoting:
        """Return how pivots are chosen: greedily, unless the table is large."""
        auto = self.pivoting == "auto" and rows <= 2 * SUBSAMPLE
        return "greedy" if auto else self.pivoting

    def _search(self, data: PairedData) -> KernelSearch:
        """Return what is to be selected, and how."""
        how = Selection() if self.selection is None else self.selection
        options = factoring(self, data)
        return KernelSearch(
            self._name,
            (self.kernel_x, self.kernel_y),
            self.regularization,
            self.selection,
            replace(
                options,
                tol=options.tol if self._is_free else self.tol,
                pivoting=self._pivoting(min(how.rows, data.sample.n)),
            ),
            partial(
                fit_without,
                encoding=data.encodings[1],
                executor=self.executor,
                divided=self._is_projected,
            ),
            lambda x, _y: x,
            centred=False,
            executor=self.executor,
            verbose=self.verbose,
        )

    def _learn_anew(self, data: PairedData, fit: Fit) -> Self:
        """Factor both kernel matrices, or invert that of X in full, and solve."""
        chosen, judged = fit.chosen, fit.judges is not None
        if not self.low_rank:
            data = replace(data, sample=data.sample.counted)
            kept = KeptSample.of(data, self.support_size, dependent=judged)
            return self._learn_in_full(kept, fit)
        options = fit_options(self, data.sample, data.rng)
        options["tol"] = options["tol"] if self._is_free else self.tol
        options["pivoting"] = self._pivoting(data.sample.n)
        kernels, rows = (chosen.kernel_x, chosen.kernel_y), (data.sample.x, data.sample.y)
        plan = support_plan(data, self.support_size)
        reduction = reduce_sample(*kernels, *rows, **options, plan=plan)
        warn_if_lost(self._name, self, reduction)
        small, support = reduction.small, reduction.support
        kept = KeptSample.of(data, self.support_size, support, dependent=judged)
        return self._learn(kept, fit, small, few=is_exact(self.max_rank, data.sample))

    def _learn(
        self,
        kept: KeptSample,
        fit: Fit,
        reduction: Reduced,
        bases: tuple[Basis, Basis] | None = None,
        *,
        few: bool | None = None,
    ) -> Self:
        """Solve for the coefficients, Eq. `eq:lowrankprog`; ``few`` by default as before."""
        x, y = bases or double_orthogonal(reduction, centred=False)
        sums, pairs = reduction.moments, kept.pairs
        ridge = self._ridge(fit.chosen, kept.size)
        mean, goal = embedding_objective(sums, x, y, ridge)
        scopes = {self.normalization, self._scope}
        most = self.grid_rows if "sample" in scopes else 0
        grid = pairs.choose(most, fit.seed)
        found: Solution
        if scopes == {"none"}:
            found = closed_form(goal)
        else:
            found = embedding(
                goal,
                to_numpy(y.map.core) @ to_numpy(y.rotation),
                mean,
                normalization=self.normalization,
                positivity=self._scope,
                features=host_features(x, pairs.x.take(grid)) if most else None,
            )
        solved = SolvedEmbedding(
            solution=found,
            bases=(x, y),
            points=reduction.y.map.landmarks,
            weights=to_numpy(y.expansion) @ found.value,
            ridge=ridge,
            mean=to_numpy(y.rotation).T @ to_numpy(sums.sum_y) / sums.weight,
        )
        executor = executor_like(x.map.core, self.executor)
        return self._keep(
            fit,
            fit_embedding(kept, solved, self.positivity, executor, fit.judges),
            kernel_x_=fit.chosen.kernel_x,
            kernel_y_=fit.chosen.kernel_y,
            _reduction=reduction,
            _was_free=self._is_free,
            _few=self._few if few is None else few,
            basis_x_=x,
            basis_y_=y,
            moments_=reduction.moments,
            regularization_=ridge,
            grid_rows_=grid,
        )

    def _learn_in_full(self, kept: KeptSample, fit: Fit) -> Self:
        """Invert the kernel matrix of all rows, and keep the embedding."""
        ridge = self._ridge(fit.chosen, kept.size)
        executor = executor_for(kept.all_rows.x, self.executor)
        kernels = fit.chosen.kernel_x, fit.chosen.kernel_y
        fitted = full_embedding(
            kept, kernels, ridge, self.positivity, executor=executor, judges=fit.judges
        )
        return self._keep(
            fit,
            fitted,
            kernel_x_=fit.chosen.kernel_x,
            kernel_y_=fit.chosen.kernel_y,
            basis_x_=fitted.basis_x,
            regularization_=ridge,
            grid_rows_=np.empty(0, dtype=np.intp),
        )

    @property
    def _adds(self) -> bool:
        """Whether the model is solved from sums: not in full, nor with exact factors."""
        kept = self._fitted.kept.rows is not None
        return self.low_rank and not (self._is_free and self._few and kept)

    def _update(self, kept: KeptSample, sums: Moments | None) -> Self:
        if sums is None:
            return self._anew(kept)
        reduction = self._reduction.changed(sums)
        warn_if_missed(self._name, self._reduction, reduction, self.tol)
        return self._learn(kept, self._fit, reduction)

    def _solve_again(self) -> Self:
        kept = self._fitted.kept
        if not self.low_rank or (self._few and self._is_free != self._was_free):
            return self._anew(kept)
        bases = self.basis_x_, self.basis_y_
        return self._learn(kept, self._fit, self._reduction, bases)

    def _anew(self, kept: KeptSample) -> Self:
        """Fit with the hyperparameters that were selected, but new landmarks."""
        rng, seed = np.random.default_rng(self._seed), self._seed
        common = self._columns, rng, seed, kept.made
        data = PairedData(kept.all_rows, kept.encodings, *common)
        return self._learn_anew(data, self._fit)
