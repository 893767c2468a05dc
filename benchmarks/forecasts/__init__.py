"""Forecasts of distributions by this package and by others: the same splits, and the same scores.

Run ``python -m benchmarks.forecasts`` from the root of the repository. It writes the tables
``docs/results/tables/forecasts-*.csv`` and the page ``docs/results/forecasts.md``, and resumes
where it stopped. Methods whose packages are not installed are left out, so that packages that
exclude each other run in environments of their own and add rows to the same tables. Rows of
this package need its own dependencies alone.
"""
