"""At equal rank default pivots are about as good for models as greedy ones, the paper's."""

from functools import partial

import numpy as np
import pytest

from jointdist import JointDistribution, scores
from jointdist.datasets import NormalPair
from jointdist.kernels import Gaussian

RIDGES = (1e-2, 1e-4, 1e-6, 1e-8)
RULES = ("auto", "greedy")


def fitted(scales, rank, rule, train, **params):
    model = JointDistribution(
        *map(Gaussian, scales),
        regularization=RIDGES[0],
        tol=0.0,
        max_rank=rank,
        pivoting=rule,
        random_state=0,
        verbose=0,
        **params,
    ).fit(*train)
    assert model.basis_x_.rank == model.basis_y_.rank == rank
    return model


def loss(model, held):
    return scores.second_moment_loss(model.given(held[0]), held[1]).mean()


def drawn(d, seed, *sizes):
    pair, rng = NormalPair.random(d, random_state=seed), np.random.default_rng(seed)
    return pair, *(pair.draw(rows, random_state=rng) for rows in sizes)


@pytest.mark.parametrize(("d", "rank"), [(1, 6), (2, 16), (2, 32), (3, 32)])
def test_second_moments_are_as_good_as_with_greedy_pivots(d, rank):
    """Means over samples, with the length scale of X and the ridge selected."""
    means = dict.fromkeys(RULES, 0.0)
    for seed in range(6):
        pair, train, *rest = drawn(d, seed, 2000, 300, 300)
        held = [(Z, pair.second_moments(Z)) for Z, _ in rest]
        for rule in RULES:
            tried = []
            for scales in ((2.0, 4.0), (4.0, 4.0)):
                model = fitted(scales, rank, rule, train, positivity="none")
                for ridge in RIDGES:
                    score = partial(loss, model.refit(regularization=ridge))
                    tried.append(tuple(map(score, held)))
            means[rule] += min(tried)[1]
    assert means["auto"] <= 1.1 * means["greedy"]


def test_forecasts_are_as_good_as_with_greedy_pivots():
    means = dict.fromkeys(RULES, 0.0)
    for seed in range(3):
        _, (X, Y), (Z, W) = drawn(3, seed, 1000, 100)
        for rule in RULES:
            model = fitted((2.0, 1.0), 8, rule, (X, Y[:, 0]))
            means[rule] += scores.crps(model.given(Z), W[:, 0]).mean()
    assert means["auto"] <= 1.1 * means["greedy"]
