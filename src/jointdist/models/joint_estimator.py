"""What estimators of joint distributions share: both directions, marginals, dependence."""

from sklearn.utils.validation import check_is_fitted

from jointdist._array import Index, Vector
from jointdist._rules import Seed, generator, is_whole, require
from jointdist.data.frames import index_of
from jointdist.distributions.columns import select_columns
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import answering
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Distributions
from jointdist.models._arguments import y_for_Y
from jointdist.models.base import DistributionEstimator
from jointdist.models.dependence import Dependence
from jointdist.models.event_rows import require_one
from jointdist.models.fitted_joint import FittedJoint
from jointdist.selection.settings import SETTINGS

__all__ = ["JointEstimator"]


class JointEstimator(DistributionEstimator):
    """An estimator of the joint distribution of X and Y, with both conditionals."""

    grid_rows_: Index
    _fitted: FittedJoint  # pyrefly: ignore[bad-override-mutable-attribute]

    def given(
        self, x: object = None, *, y: object = None, where: object = None
    ) -> Conditional:
        """Return conditional distributions: of Y for each row of ``x``, or of X for each of ``y``.

        Conditions are copied, but for more than 2²⁵ numbers; these must not change.

        Parameters
        ----------
        x : array, DataFrame, dict or sequence of shape (q, d_x), optional
            Conditions on X; a vector if X has one column. A dict of values by the names of
            columns, or a Series with these as its index, is one row.
        y : array, DataFrame, dict or sequence of shape (q,) or (q, d_y), optional
            Conditions on Y.
        where : str, callable, or array of shape (n,), optional
            An event: the distribution of Y given that X lies in a set. An expression over
            the columns of X, as ``"x1 > 0 and x2 < 1"``, a function of its rows, or a truth
            value for each support point of X, those of ``marginal("x")``. The distribution
            is the mean of the signed ones over the support points in the set, projected
            afterwards; of ``"exponential"``, the mean of the proper ones.
        """
        check_is_fitted(self)
        method = f"{self._name}.given"
        require_one(method, x=x, y=y, where=where)
        if x is not None:
            return self._given_x(x)
        if where is not None:
            return self._given_where(where)
        y = self._question("given", "y", y, 1)
        rows = self._encodings[1].encode(y, where=method, name="y", vector=True).kept()
        dists = self._shown(self._fitted.of_x(rows))
        return self._answer(answering(dists, rows, index_of(y)))

    def marginal(self, of: str) -> Conditional:
        """Return the marginal distribution of X or of Y under the model, Eq. `QXYeq`.

        Parameters
        ----------
        of : {"x", "y"}
            Which side.
        """
        check_is_fitted(self)
        require(of in ("x", "y"), f"{self._name}.marginal", "of", 'one of "x" and "y"', of)
        joint = self._fitted
        if of == "y":
            return self._answer(Conditional(joint.marginal_y()))
        return self._answer(Conditional(self._shown(joint.marginal_x())))

    def _shown(self, dists: LinearDistributions) -> Distributions:
        """Return distributions of X in the columns of the table."""
        shown = self._design.shown
        if shown == dists.encoding:
            return dists
        return select_columns(dists, range(shown.width), shown)

    @y_for_Y
    def ratio(self, X: object, Y: object, *, grid: bool = False) -> Vector:
        r"""Return the ratio :math:`1 + h` of the joint density to the product of the marginals.

        It is the ratio of the fitted model before conditional distributions are projected,
        so that it may be negative; of ``"exponential"`` it is positive.

        Parameters
        ----------
        X : array, DataFrame or sequence of shape (k, d_x)
            Rows of X.
        Y : array, DataFrame or sequence of shape (k,) or (k, d_y)
            Rows of Y.
        grid : bool, default=False
            Whether to evaluate all pairs of rows, with a result ``(k_x, k_y)``, or row i of
            both.
        """
        check_is_fitted(self)
        x, y = self._read_pair("ratio", X, Y, paired=not grid)
        return self._fitted.ratio_on_grid(x, y) if grid else self._fitted.ratio(x, y)

    def dependence(self, *, permutations: int = 199, random_state: Seed = 0) -> Dependence:
        r"""Measure the dependence of X and Y, with a permutation test of independence.

        Parameters
        ----------
        permutations : int, default=199
            The number of permutations of the test.
        random_state : int, Generator, RandomState, default=0
            The seed of the permutations, and of the choice of rows: at most 20,000 are
            permuted, and 4,096 used for the mutual information, all of them by models of
            ``"exponential"`` positivity.
        """
        check_is_fitted(self)
        where = f"{self._name}.dependence"
        whole = is_whole(permutations, least=1)
        rule = "an integer of at least 1"
        require(whole, where, "permutations", rule, permutations)
        rng = generator(where, random_state)
        # Ridges that were selected for each function would know the pairs of the sample.
        one = isinstance(self.regularization_, float)
        ridge = self.regularization_ if one else SETTINGS.strength / self._fitted.kept.size
        return self._fitted.dependence(ridge, permutations, rng)
