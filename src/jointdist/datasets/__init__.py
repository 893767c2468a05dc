"""Data for examples, tests and experiments: shipped, downloaded or simulated.

*Tables* are dicts of named columns. *Pairs* draw any number of rows of X and Y from a joint
distribution whose conditional distributions are known.
"""

from jointdist.datasets.correlation import random_correlation
from jointdist.datasets.flights import load_flights
from jointdist.datasets.french import fetch_french_portfolios
from jointdist.datasets.normal_pair import NormalPair
from jointdist.datasets.running_averages import RunningAverages
from jointdist.datasets.table import Table

__all__ = [
    "NormalPair",
    "RunningAverages",
    "Table",
    "fetch_french_portfolios",
    "load_flights",
    "random_correlation",
]
