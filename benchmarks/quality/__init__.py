"""How accurate valid laws are, beside signed ones and other packages: the exam.

Run ``python -m benchmarks.quality`` from the root of the repository. It writes the page
``docs/results/proper.md`` and its tables, and goes on where it was if it is stopped. Splits
that defaults were settled on are those of the preset ``development``; those of the preset
``exam`` are others, and none of them is used to choose anything.
"""
