"""Accuracy of proper predictive distributions, compared with signed ones and other packages.

Run ``python -m benchmarks.quality`` from the root of the repository. It writes the page
``docs/results/proper.md`` and its tables, and resumes where it stopped. The defaults of this
package were chosen on the splits of the preset ``development``; the preset ``evaluation`` has
other splits, which no choice has used.
"""
