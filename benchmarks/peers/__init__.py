"""jointdist beside what people would use instead, on the same rows and by the same scores.

Run ``python -m benchmarks.peers`` from the root of the repository. Every method is fitted
at its defaults, or at what its own validation on training rows finds; none has seen a test
row before it is scored. Methods whose packages are not installed are left out, and named
at the start.
"""
