"""Dependent X and Y of every kind of column, for tests of distributions."""

from types import SimpleNamespace

import numpy as np

from jointdist.kernels import Delta, Gaussian, Matern

N, Q = 700, 23  # the support points are of eleven blocks when sorted
CATEGORIES = np.array(["ash", "birch", "cedar", "dogwood"])


def sides(kind):
    """Return dependent X and Y of a kind, their kernels, and conditions on both."""
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(N + Q, 2))
    scalar = Z[:, 0] + 0.4 * np.sin(3 * Z[:, 1]) + 0.3 * rng.normal(size=N + Q)
    wide, narrow = Gaussian(2.0), Gaussian(1.0)
    categories = CATEGORIES[np.digitize(scalar, [-1, 0, 1])]
    mixed = np.empty((N + Q, 2), dtype=object)
    mixed[:, 0], mixed[:, 1] = categories, np.round(Z[:, 1], 1)
    word_and_number = narrow.on(1) * Delta(0.5).on(0)
    X, Y, k_x, k_y = {
        "scalar": (Z, scalar, wide, narrow),
        "one column": (Z[:, :1], scalar[:, None], narrow, Matern(2.0, nu=2.5)),
        "rounded": (Z.round(1), scalar.round(1), wide, narrow),
        "inflated": (
            Z,
            np.where(scalar < 0.3, 0.0, scalar.round(2)),
            wide,
            narrow,
        ),
        "binary": (Z[:, :1], (scalar > 0.5) * 1, narrow, Delta()),
        "vector": (
            scalar[:, None].round(2),
            np.column_stack([Z[:, 0].round(1), Z[:, 1] - 7, scalar**2]),
            narrow,
            Gaussian((2.0, 2.0, 5.0)),
        ),
        "counts": (Z, np.clip(Z.round(), -1, 1) + 100.0, wide, wide),
        "categories": (Z, categories, wide, Delta(0.2)),
        "categories of x": (categories[:, None], scalar, Delta(), narrow),
        "mixed": (Z, mixed, wide, word_and_number),
        "mixed x": (mixed, Z, word_and_number, wide),
        "far": (1e4 + Z, 1e5 + scalar, wide, narrow),
    }[kind]
    return SimpleNamespace(X=X[:N], Y=Y[:N], x=X[N:], y=Y[N:], kernel_x=k_x, kernel_y=k_y)


def kind_of(kind, side):
    """Return whether a side is of categories, of few values, or has a density."""
    if (kind, side) in (
        ("categories", "y"),
        ("categories of x", "x"),
        ("mixed", "y"),
        ("mixed x", "x"),
    ):
        return "categories"
    return "few" if side == "y" and kind in ("binary", "counts") else "density"
