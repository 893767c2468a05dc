"""Plots of conditional distributions, of their calibration, and of the selection.

Every function draws on the axes given, or on new ones, and returns them. None of them
shows a figure or changes a style. They need matplotlib (``pip install jointdist[plot]``).
"""

from jointdist.plots.calibration import pit_histogram, reliability
from jointdist.plots.choice import ridge_path, scale_map
from jointdist.plots.fan import fan
from jointdist.plots.maps import density_map, ratio_map
from jointdist.plots.spectra import eigenvalues, trace_error

__all__ = [
    "density_map",
    "eigenvalues",
    "fan",
    "pit_histogram",
    "ratio_map",
    "reliability",
    "ridge_path",
    "scale_map",
    "trace_error",
]
