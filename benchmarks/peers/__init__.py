"""jointdist compared with other packages, on the same rows and by the same scores.

Run ``python -m benchmarks.peers`` from the root of the repository. Every method uses its
defaults, or hyperparameters from its own validation on training rows; no fit sees a test row.
Methods whose packages are not installed are skipped and listed at the start.
"""
