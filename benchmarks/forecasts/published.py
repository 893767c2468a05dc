"""Published figures of the CRPS, which were not computed here, with their sources."""

from dataclasses import dataclass

__all__ = ["PUBLISHED", "SOURCES", "Published"]

SOURCES = {
    "1": "Izbicki and Rodrigues (2026), *Benchmarking tabular foundation models for "
    "conditional density estimation in regression*, arXiv:2603.26611; the figures are those of "
    "`results_real/appendix_metric_tables.html` in its repository "
    "`rizbicki/tabDensityComparisons` (commit 0e5eb53). 5,000 to 20,000 rows of the set, a "
    "quarter of them for testing, several draws; densities on a grid of 200 points; pretrained "
    "weights, which may have seen these sets",
    "2": "the table in the README of the shared folder of data, which names no publication: "
    "*PNN-E* and *NLM-E* are deep ensembles, the 20 published splits of nine tenths of the rows",
    "3": "the notes beside these data, which name no publication and no protocol",
}
TABPFN, TABICL = "TabPFN-2.5", "TabICLv2"


@dataclass(frozen=True)
class Published:
    """A published mean CRPS.

    Attributes
    ----------
    method : str
        The method, by the name of its publication.
    data : str
        The data set as it is named here, or its rows under the protocol of large sets.
    crps : float
        The mean.
    error : float
        Its standard error; NaN if none was published.
    trained : int
        Training rows; zero if unknown.
    source : str
        The number of the source.
    protocol : str
        The protocol here that is nearest.
    """

    method: str
    data: str
    crps: float
    error: float
    trained: int
    source: str
    protocol: str


NONE = float("nan")


def _quarter(data: str, trained: int, *found: tuple[str, float, float]) -> list[Published]:
    return [Published(name, data, *own, trained, "1", "large") for name, *own in found]


def _ninth(data: str, trained: int, **found: float) -> list[Published]:
    names = {"pnn": "PNN-E", "nlm": "NLM-E", "dropout": "MC-dropout"}
    return [
        Published(names[key], data, value, NONE, trained, "2", "fresh")
        for key, value in found.items()
    ]


PUBLISHED: tuple[Published, ...] = (
    *_quarter("protein, 5,000", 3_750, (TABPFN, 1.7205, 0.0211), (TABICL, 1.6829, 0.0166)),
    *_quarter("protein, 10,000", 7_500, (TABPFN, 1.5065, 0.0040), (TABICL, 1.4634, 0.0053)),
    *_quarter(
        "protein, 20,000", 15_000, (TABPFN, 1.3397, 0.0098), (TABICL, 1.2988, 0.0086)
    ),
    *_quarter("kin8nm, 5,000", 3_750, (TABPFN, 0.0388, 0.0005), (TABICL, 0.0395, 0.0004)),
    *_quarter("naval, 10,000", 7_500, (TABPFN, 0.0001, NONE), (TABICL, 0.0001, NONE)),
    *_ninth("yacht", 277, pnn=0.478, nlm=0.566),
    *_ninth("boston", 455, pnn=1.686, nlm=1.638),
    *_ninth("concrete", 927, pnn=2.757, nlm=2.807, dropout=2.724),
    *_ninth("wine", 1_439, pnn=0.372, nlm=0.347),
    *_ninth("power", 8_611, pnn=2.228, nlm=2.201),
    *_ninth("kin8nm", 7_373, pnn=0.0413, nlm=0.0406),
    Published("deep ensembles", "kin8nm", 0.0367, NONE, 0, "3", "fresh"),
)
