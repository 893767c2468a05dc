"""Claims of the paper about normal data, for each number of columns."""

import pandas as pd

from experiments.claims import Claim, verdict
from experiments.markdown import by_model, growth, number, series

__all__ = ["across", "claims_of"]

# What explains that CME is above or below JDL, by the number of columns.
REMARKS = {
    3: " With exact marginals JDL is level with CME in small samples. The coarse factors of "
    "large samples cost CME more, because its distributions are supported on the pivots; "
    "default pivots, with fewer in the tails, cost JDL more.",
}


def claims_of(d: int, paper: pd.DataFrame, own: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper for one number of columns.

    Parameters
    ----------
    d : int
        The number of columns of X and of Y.
    paper : DataFrame
        The rows with the tolerances and the pivots of the paper.
    own : DataFrame
        The rows with one tolerance, and default pivots; empty if these were not run.
    """
    losses = [_jdl_or_cme(d, paper, own), _polynomials(paper), _growth(paper)]
    claims = [*losses, *_normalised(paper), _positive(d, paper)]
    return [claim._replace(text=f"d = {d}: {claim.text}") for claim in claims]


def _jdl_or_cme(d: int, paper: pd.DataFrame, own: pd.DataFrame) -> Claim:
    means, middle = by_model(paper, "loss"), by_model(paper, "loss", "median")
    over, default = means["CME"] / means["JDL"], ""
    each = paper.pivot_table(index=["n", "seed"], columns="model", values="loss")
    higher = each["CME"] > each["JDL"]
    if len(own):
        by_default = by_model(own, "loss")
        ratios = series(by_default["CME"] / by_default["JDL"])
        default = f" With default pivots and tolerance 10⁻³ {ratios}."
    return Claim(
        "Without constraints JDL dominates CME: its loss is lower at every n.",
        verdict(over > 1),
        f"Loss of CME over that of JDL: {series(over)}; medians "
        f"{series(middle['CME'] / middle['JDL'])}; over JDL with exact marginals "
        f"{series(means['CME'] / means['JDL exact'])}.{default} Matrices: "
        f"{series(paper.groupby('n')['seed'].nunique())}; share of them in which the loss of CME "
        f"is higher: {series(higher.groupby('n').mean())}.{REMARKS.get(d, '')}",
    )


def _polynomials(paper: pd.DataFrame) -> Claim:
    means = by_model(paper, "loss")
    best = means["JPDL"] / means[["JDL", "CME"]].min(axis=1)
    return Claim(
        "JPDL dominates both, for large n at least.",
        verdict(best < 1),
        f"Loss of JPDL over the lower of JDL and CME: {series(best)}.",
    )


def _growth(paper: pd.DataFrame) -> Claim:
    step = growth(paper, "loss")
    rising = [(step["JDL"] > 1).any(), (step["CME"] > 1).any(), (step["JPDL"] < 1).all()]
    rises = paper["tol"].max() > paper["tol"].min()
    same = "" if rises else "One tolerance at all n. "
    return Claim(
        "Losses of all but JPDL may increase with n, as the tolerance does.",
        verdict(rising if rises else []),
        f"{same}Loss over that at the previous size, for the matrices of both sizes: JDL "
        f"{series(step['JDL'])}; CME {series(step['CME'])}; JPDL {series(step['JPDL'])}.",
    )


def _normalised(paper: pd.DataFrame) -> list[Claim]:
    error = "normalization_error"
    largest = paper.groupby("model")[error].max()[["JDL", "JDL exact", "JPDL"]]
    off = by_model(paper, error)
    return [
        Claim(
            "JDL and JPDL are normalised by construction.",
            verdict(largest < 1e-8),
            "Largest error of all conditional distributions: "
            f"{', '.join(f'{name} {number(value)}' for name, value in largest.items())}.",
        ),
        Claim(
            "CME has sizable normalisation errors, which constraints mitigate.",
            verdict(off["CME"] > off["CME average"]),
            f"Largest error of 5,000 distributions, means over runs: {series(off['CME'])}; with "
            f"constraints {series(off['CME average'])}. Constraints hold on average over the "
            "sample; the largest error is that of a single distribution.",
        ),
    ]


def _positive(d: int, paper: pd.DataFrame) -> Claim:
    share, three = by_model(paper, "indefinite_share"), d >= 3
    return Claim(
        f"Hardly any second-moment matrices are indefinite{', but for CME' if three else ''}.",
        verdict(share[["JDL", "JPDL"] if three else ["JDL", "JPDL", "CME"]] < 0.01),
        f"Mean share: JDL {series(share['JDL'])}; JPDL {series(share['JPDL'])}; CME "
        f"{series(share['CME'])}; tightened JDL "
        f"{number(share['JDL tightened'].max())} at most. Signed distributions have "
        "negative weights.",
    )


def across(paper: pd.DataFrame) -> list[Claim]:
    """Return the claim of the paper that compares numbers of columns.

    Parameters
    ----------
    paper : DataFrame
        The rows with the tolerances and the pivots of the paper.
    """
    losses = {d: by_model(part, "loss") for d, part in paper.groupby("d")}
    ratio = pd.DataFrame({d: loss["CME"] / loss["JDL"] for d, loss in losses.items()})
    steps = ratio.dropna().diff(axis=1).iloc[:, 1:]
    shown = [f"d = {d} {series(ratio[d])}" for d in ratio]
    alone = [f"d = {d} {series(loss['CME'])}" for d, loss in losses.items()]
    return [
        Claim(
            "CME losses are particularly pronounced for higher dimensions.",
            verdict(steps > 0),
            "At n that all have, the loss of CME over that of JDL should rise with d: "
            f"{'; '.join(shown)}. Loss of CME: {'; '.join(alone)}. That rises with d, as all "
            "losses do.",
        )
    ]
