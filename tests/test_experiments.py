"""Studies: their tables grow as runs end, survive what stops them, and are drawn."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from experiments.claims import verdict
from experiments.markdown import by_size, number
from experiments.pages import checksum, pages, write_figures
from experiments.store import Store, read_table
from experiments.studies import STUDIES
from experiments.study import Study, run, settings_of

ROOT = Path(__file__).parents[1]
CLOCK = ["fit_seconds", "solve_seconds", "test_seconds", "date", "machine"]


@pytest.fixture(scope="module", params=sorted(STUDIES))
def tiny(request, tmp_path_factory):
    """A study, and the folder of what its smallest preset gives."""
    study, folder = STUDIES[request.param], tmp_path_factory.mktemp(request.param)
    table = folder / "tables" / f"{study.name}.csv"
    run(study, settings_of(study, "tiny"), table)
    return study, folder, table


def test_smallest_preset(tiny):
    study, _, path = tiny
    table, todo = pd.read_csv(path), settings_of(study, "tiny")
    assert all(set(one) == set(study.keys) for one in todo)
    assert len(table) == len(todo) * table["model"].nunique()
    value = "loss" if "loss" in table else "fit_seconds"
    assert np.isfinite(table[value]).all()
    assert not path.with_suffix(".jsonl").exists()


def test_figures_name_their_table(tiny):
    study, folder, path = tiny
    files = write_figures(study, path, folder / "figures")
    assert files
    for file in files:
        with Image.open(file) as picture:
            assert picture.info["Source"] == checksum(path)
            levels = np.asarray(picture.convert("L"))
        assert (levels < 128).mean() > 0.001  # there is something to see


def test_pages(tiny):
    study, folder, _ = tiny
    found = pages([study], folder)
    assert set(found) == {"README.md", f"{study.name}.md"}
    assert study.title in found["README.md"]
    for claim in study.claims(read_table(_path(folder, study), study.keys)):
        assert claim.text in found["README.md"]
    assert "nan" not in found[f"{study.name}.md"]


def test_nothing_is_computed_twice(tiny):
    study, _, path = tiny
    before = path.read_bytes()

    def fail(settings):
        raise AssertionError(settings)

    run(replace(study, compute=fail), settings_of(study, "tiny"), path)
    assert path.read_bytes() == before


def _path(folder, study):
    return folder / "tables" / f"{study.name}.csv"


def _command(folder, jobs):
    options = ["--preset", "tiny", "--runs", "6", "--jobs", str(jobs)]
    return [sys.executable, "-m", "experiments", "uniform", *options, "--results", folder]


def _results(folder):
    return pd.read_csv(folder / "tables" / "uniform.csv").drop(columns=CLOCK)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    subprocess.run(_command(folder, 1), cwd=ROOT, check=True, capture_output=True)
    return _results(folder)


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_study_goes_on(jobs, undisturbed, tmp_path):
    journal = tmp_path / "tables" / "uniform.jsonl"
    first = subprocess.Popen(_command(tmp_path, jobs), cwd=ROOT, stderr=subprocess.PIPE)
    children = []
    while first.poll() is None:
        if journal.exists() and journal.read_text().count("\n") >= 2:
            children = _children(first.pid)
            first.send_signal(signal.SIGKILL)
            break
        time.sleep(0.01)
    assert first.wait() == -signal.SIGKILL
    first.stderr.close()
    there = journal.read_text().count("\n")
    assert 2 <= there < 6
    assert not (tmp_path / "tables" / "uniform.csv").exists()
    _wait_until_gone(children)
    again = subprocess.run(
        _command(tmp_path, jobs), cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert f"uniform: {there} of 6 are there" in again.stderr
    pd.testing.assert_frame_equal(_results(tmp_path), undisturbed, rtol=1e-4, atol=1e-9)
    assert not journal.exists()


def _children(pid):
    """Return the processes that a process has started."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in found.read_text().split()] if found.exists() else []


def _wait_until_gone(pids):
    """Wait for processes of a pool to notice that their parent is no more."""
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, pids
        time.sleep(0.1)


NAMES = ("n", "tol", "seed")


def _settings(n, seed, tol=0.1):
    return {"n": n, "tol": tol, "seed": seed}


def test_table_is_in_the_order_of_settings(tmp_path):
    path = tmp_path / "a.csv"
    with Store(path, NAMES) as store:
        for n, seed in ((100, 1), (20, 0), (100, 0)):
            rows = [{"model": "b", "loss": 1 / 3}, {"model": "a", "loss": np.nan}]
            store.add(_settings(n, seed), rows)
    table = pd.read_csv(path)
    assert table["n"].tolist() == [20, 20, 100, 100, 100, 100]
    assert table["model"].tolist() == ["b", "a"] * 3
    assert table["loss"].dropna().tolist() == [0.333333] * 3
    with Store(path, NAMES) as store:
        assert _settings(100, 1) in store
        assert _settings(100.0, 1.0) in store
        assert _settings(100, 2) not in store
        assert _settings(100, 1, tol=0.2) not in store


def test_line_that_was_cut_short_is_computed_again(tmp_path):
    path = tmp_path / "a.csv"
    whole = json.dumps([{**_settings(1, 0), "loss": 2.0}]) + "\n"
    path.with_suffix(".jsonl").write_text(whole + whole.replace("2.0", "3.0")[:20])
    with Store(path, NAMES) as store:
        assert _settings(1, 0) in store
        store.add(_settings(1, 1), [{"loss": 4.0}])
    assert pd.read_csv(path)["loss"].tolist() == [2.0, 4.0]


def test_journal_left_beside_its_table_adds_nothing(tmp_path):
    path = tmp_path / "a.csv"
    with Store(path, NAMES) as store:
        store.add(_settings(1, 0), [{"loss": 2.0}])
    path.with_suffix(".jsonl").write_text(
        json.dumps([{**_settings(1, 0), "loss": 3.0}]) + "\n"
    )
    assert read_table(path, NAMES)["loss"].tolist() == [2.0]
    with Store(path, NAMES):
        pass
    assert pd.read_csv(path)["loss"].tolist() == [2.0]


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "a.csv"
    with Store(path, NAMES) as store:
        with pytest.raises(RuntimeError, match=r"another run is writing to .*a\.jsonl"):
            Store(path, NAMES)
        store.add(_settings(1, 0), [{"loss": 2.0}])


def test_error_keeps_what_is_there(tmp_path):
    def compute(settings):
        if settings["seed"] == 2:
            msg = "no"
            raise ZeroDivisionError(msg)
        return [{"loss": settings["seed"]}]

    study = Study("x", "", NAMES, {}, lambda: (), compute, lambda _: {})
    todo = [_settings(1, seed) for seed in range(4)]
    with pytest.raises(ZeroDivisionError):
        run(study, todo, tmp_path / "a.csv")
    assert pd.read_csv(tmp_path / "a.csv")["loss"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([True, True], "holds"),
        ([False], "does not hold"),
        ([True, False, False], "holds in 1 of 3 cases"),
        ([], "not run"),
    ],
)
def test_verdict(cases, words):
    assert verdict(cases) == words


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (0.0, "0"),
        (0.12345, "0.123"),
        (1234.5, "1.23e+03"),
        (2.5e-7, "2.5·10⁻⁷"),
        (3e8, "3.0·10⁸"),
        (np.nan, "–"),
    ],
)
def test_number(value, word):
    assert number(value) == word


def test_means_and_quantiles():
    loss = np.arange(101.0)
    table = pd.DataFrame({"n": 1000, "seed": range(101), "model": "A", "loss": loss})
    assert by_size(table, "loss", ["A", "B"]).splitlines() == [
        "| n | runs | A | B |",
        "| --- | --- | --- | --- |",
        "| 1,000 | 101 | 50 (5, 95) | – |",
    ]
    assert "| 100 | –" in by_size(table, "loss", ["A", "B"], worst=True)


def test_command_refuses_unknown_studies():
    env = {**os.environ, "COLUMNS": "200"}
    command = [sys.executable, "-m", "experiments", "nonsense"]
    found = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True)
    assert found.returncode == 2
    assert b"invalid choice: 'nonsense'" in found.stderr
