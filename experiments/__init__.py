"""The numerical experiments of the paper, section 5: one module for each figure.

Run ``python -m experiments NAME``. Each study makes a table of results, one row for each
model and run, which grows as runs end; pictures and pages are drawn from tables alone.
"""
