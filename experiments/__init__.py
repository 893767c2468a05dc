"""The numerical experiments of the paper, section 5: one module for each figure.

Run ``python -m experiments NAME``. Each study writes a table of results with one row for each
model and run, appended as runs finish. Figures and pages are generated from the tables alone.
"""
