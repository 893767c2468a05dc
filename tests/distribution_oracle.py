"""Distributions as explicit weights on explicit points: the oracle of the fast functionals."""

import numpy as np

ROUNDING = 1e-12  # of a cdf that reaches a level


def dense_ratio(model, X, Y, w, *, x, y):
    """Return 1 + h on a grid, by solving the problem of the paper as one linear system.

    Only the kernels, the landmarks and the ridge are taken from the model.
    """
    p = w / w.sum()

    def features(basis, Z, support):
        P = basis.map.landmarks
        C = np.linalg.cholesky(basis.map.kernel(P, P))
        at, over = (np.linalg.solve(C, basis.map.kernel(P, z)).T for z in (Z, support))
        mean = p @ over if model.marginals == "exact" else 0.0
        return at - mean, over - mean

    f_x, F_x = features(model.basis_x_, x, X)
    f_y, F_y = features(model.basis_y_, y, Y)
    s_x, s_y = p @ F_x, p @ F_y
    gram_x, gram_y = (F.T @ (p[:, None] * F) for F in (F_x, F_y))
    cross = F_y.T @ (p[:, None] * F_x) - np.outer(s_y, s_x)
    A = np.kron(gram_y, gram_x) + model.regularization_ * np.eye(cross.size)
    b, e = cross.ravel(), np.kron(s_y, s_x)
    if model.marginals == "total":
        A = np.block([[A, e[:, None]], [e, 0.0]])
        b = np.append(b, 0.0)
    M = np.linalg.solve(A, b)[: cross.size].reshape(cross.shape)
    return 1 + f_x @ M.T @ f_y.T


class Explicit:
    """Distributions with weights ``w`` ``(q, n)``, of sum one, on points ``z``, (n,) or (n, d)."""

    def __init__(self, w, z):
        self.w, self.z = w, z

    def expect(self, values):
        """Return the sum of weights times values, point by point."""
        values = np.asarray(values, dtype=float)
        return np.tensordot(self.w, values, axes=1)

    def mean(self):
        """Return the means."""
        return self.expect(self.z)

    def second_moment(self):
        """Return the means of squares or products."""
        z = self.z
        return self.expect(z * z if z.ndim == 1 else z[:, :, None] * z[:, None, :])

    def cov(self):
        """Return covariances, about the mean."""
        found = []
        for w, mean in zip(self.w, self.mean(), strict=True):
            away = self.z - mean
            found.append((w * away.T) @ away)
        return np.array(found)

    def cdf(self, points):
        """Return the weight of the support points up to each point, ``(q, k)``."""
        below = self.z[:, None] <= np.asarray(points)
        return self.expect(below.all(axis=2) if below.ndim == 3 else below)

    def quantile(self, levels):
        """Return the first values at which the cdfs reach the levels, one row a distribution."""
        levels = np.broadcast_to(levels, (len(self.w), np.shape(levels)[-1]))
        if self.z.ndim == 2:
            columns = [Explicit(self.w, column).quantile(levels) for column in self.z.T]
            return np.stack(columns, axis=-1)
        order = np.argsort(self.z)
        values, count = np.unique(self.z, return_counts=True)
        F = np.cumsum(self.w[:, order], axis=1)[:, np.cumsum(count) - 1]
        F[:, -1] = np.inf
        reached = F[:, None, :] >= levels[:, :, None] - ROUNDING
        return values[np.argmax(reached, axis=2)]

    def clipped_draws(self, uniform):
        """Return support points at which the sum of the clipped weights exceeds shares of it."""
        found = []
        for w, own in zip(np.maximum(self.w, 0), uniform, strict=True):
            sums = np.cumsum(w)
            found.append([int((sums <= u * sums[-1]).sum()) for u in own])
        return self.z[np.array(found)]

    def negative_share(self):
        """Return the negative weight as a share of all weight taken as positive."""
        return np.maximum(-self.w, 0).sum(axis=1) / np.abs(self.w).sum(axis=1)

    def effective_size(self):
        """Return one over the sum of squares."""
        return 1 / (self.w**2).sum(axis=1)

    def energy(self, distance, to_points):
        """Return the energy scores, from distances of support points and of support to points."""
        half = np.einsum("qi,ij,qj->q", self.w, distance, self.w) / 2
        return np.einsum("qi,qi->q", self.w, to_points) - half


def smooth_density(z, shares, points):
    """Return the density at points of a Gaussian at each point, Silverman's widths."""
    Z, points = (
        z.reshape(len(z), -1),
        np.reshape(points, (-1, z.reshape(len(z), -1).shape[1])),
    )
    d, size = Z.shape[1], 1 / (shares**2).sum()
    spread = np.sqrt(shares @ (Z - shares @ Z) ** 2)
    apart = np.array([quartile_distance(column, shares) for column in Z.T])
    spread = np.minimum(spread, apart / 1.349)
    if d == 1:
        widths = 0.9 * spread * size ** (-1 / 5)
    else:
        widths = spread * (4 / (d + 2) / size) ** (1 / (d + 4))
    heights = [
        np.prod(
            np.exp(-(((Z - p) / widths) ** 2) / 2) / widths / np.sqrt(2 * np.pi), axis=1
        )
        for p in points
    ]
    return np.array(heights) @ shares


def quartile_distance(z, shares):
    """Return the first distance of lower and upper quantiles that is not zero."""
    dist = Explicit(shares[None, :], z)
    for tail in (0.25, 0.05, 1e-9):
        low, high = dist.quantile([tail, 1 - tail])[0]
        if high > low:
            return high - low
    return np.inf
