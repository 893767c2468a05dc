"""Searches of studies with few candidates, so that tests of what comes after them are quick."""

from benchmarks.quality import famafrench as quality
from experiments import famafrench, gaussian, tolerance

SCALES = (1.0, 8.0)
FEW = {
    "SCALES_X": SCALES,
    "SCALES_JDL": (SCALES, (1.0,)),
    "SCALES_CME": (SCALES, (0.5, 2.0)),
    "RIDGES_JDL": (1e-3, 1e-5),
    "RIDGES_CME": (1e-2, 1e-4),
    "RIDGES_KLR": (0.1, 1e-2),
    "STRENGTHS_GRID": (10.0, 1.0),
}


def few_candidates(patch):
    """Let searches of studies try two or three candidates of each kind.

    Parameters
    ----------
    patch : MonkeyPatch
        What undoes it.
    """
    for module in (famafrench, quality, gaussian, tolerance):
        for name, few in FEW.items():
            if hasattr(module, name):
                patch.setattr(module, name, few)
