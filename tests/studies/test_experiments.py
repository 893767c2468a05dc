"""Studies: tables grow as runs finish, survive crashes, and are drawn."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from few_candidates import few_candidates
from PIL import Image

from experiments import famafrench, store
from experiments.__main__ import main
from experiments.claims import verdict
from experiments.device import VARIABLE
from experiments.markdown import by_size, number
from experiments.pages import checksum, pages, write_figures
from experiments.refusal import RefusalError
from experiments.store import Store, read_table
from experiments.studies import STUDIES
from experiments.study import Study, run, settings_of

ROOT = Path(__file__).parents[2]
CLOCK = ["fit_seconds", "solve_seconds", "test_seconds", "date", "machine"]


ALL = [pytest.param((name, True), id=name) for name in sorted(STUDIES)]
ALL += [pytest.param(("famafrench", False), id="all", marks=pytest.mark.long)]


@pytest.fixture(scope="module", params=ALL)
def tiny(request, tmp_path_factory):
    """A study, and the folder of what its smallest preset gives, with few candidates."""
    name, few = request.param
    study, folder = STUDIES[name], tmp_path_factory.mktemp(name)
    table = folder / "tables" / f"{study.name}.csv"
    with pytest.MonkeyPatch.context() as patch:
        if few:
            few_candidates(patch)
        run(study, settings_of(study, "tiny"), table)
    return study, folder, table


def test_smallest_preset(tiny):
    study, _, path = tiny
    table, todo = pd.read_csv(path), settings_of(study, "tiny")
    assert all(set(one) == set(study.keys) for one in todo)
    assert len(table[list(study.keys)].drop_duplicates()) == len(todo)
    assert not table.duplicated([*study.keys, "model"]).any()
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


def _arguments(folder, jobs):
    """Return the arguments of a command that runs a study."""
    options = ["--preset", "tiny", "--sizes", "50", "--jobs", str(jobs)]
    return ["tolerance", *options, "--results", str(folder)]


def _command(folder, jobs):
    return [sys.executable, "-m", "experiments", *_arguments(folder, jobs)]


def _results(folder):
    return pd.read_csv(folder / "tables" / "tolerance.csv").drop(columns=CLOCK)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "")  # the command sets it
        main(_arguments(folder, 1))
    return _results(folder)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_killed_study_goes_on(jobs, undisturbed, tmp_path, monkeypatch, capfd):
    journal = tmp_path / "tables" / "tolerance.jsonl"
    first = subprocess.Popen(_command(tmp_path, jobs), cwd=ROOT, stderr=subprocess.PIPE)
    children = []
    while first.poll() is None:
        if journal.exists() and journal.read_text().count("\n") >= 1:
            children = _children(first.pid)
            first.send_signal(signal.SIGKILL)
            break
        time.sleep(0.01)
    assert first.wait() == -signal.SIGKILL
    first.stderr.close()
    there = journal.read_text().count("\n")
    assert 1 <= there < 3
    assert not (tmp_path / "tables" / "tolerance.csv").exists()
    _wait_until_gone(children)
    monkeypatch.setenv(VARIABLE, "")  # the command sets it
    main(_arguments(tmp_path, jobs))
    assert f"tolerance: {there} of 3 are already in the table" in capfd.readouterr().err
    pd.testing.assert_frame_equal(_results(tmp_path), undisturbed, rtol=1e-4, atol=1e-9)
    assert not journal.exists()


def _children(pid):
    """Return the processes that a process has started."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(pid) for pid in found.read_text().split()] if found.exists() else []


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


def test_one_writer_at_a_time(monkeypatch, tmp_path):
    path = tmp_path / "a.csv"
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    with Store(path, NAMES) as first:
        with pytest.raises(RuntimeError, match=r"another run is writing to .*a\.jsonl"):
            Store(path, NAMES)
        first.add(_settings(1, 0), [{"loss": 2.0}])


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
    ("cases", "text"),
    [
        ([True, True], "holds"),
        ([False], "does not hold"),
        ([True, False, False], "holds in 1 of 3 cases"),
        ([], "not run"),
    ],
)
def test_verdict(cases, text):
    assert verdict(cases) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.12345, "0.123"),
        (1234.5, "1,234"),
        (2.5e-7, "2.5·10⁻⁷"),
        (3e8, "3.0·10⁸"),
        (np.nan, "–"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_means_and_quantiles():
    loss = np.arange(101.0)
    table = pd.DataFrame({"n": 1000, "seed": range(101), "model": "A", "loss": loss})
    other = pd.DataFrame({"n": [10], "seed": [0], "model": ["B"], "loss": [2.0]})
    table = pd.concat([table, other])
    assert by_size(table, "loss", ["A", "B", "C"]).splitlines() == [
        "| n | runs | A | B |",
        "| --- | --- | --- | --- |",
        "| 10 | 1 | – | 2 |",
        "| 1,000 | 101 | 50 (5, 95) | – |",
    ]


@pytest.fixture
def refusal(monkeypatch, capsys):
    """Return a function from invalid arguments of the command to its error message."""
    monkeypatch.setenv(VARIABLE, "")  # the command sets it
    monkeypatch.setenv("COLUMNS", "200")

    def refusal(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        assert ended.value.code == 2
        return capsys.readouterr().err.splitlines()[-1]

    return refusal


def test_command_refuses_unknown_studies(refusal):
    assert "invalid choice: 'nonsense'" in refusal("nonsense")


@pytest.mark.parametrize("what", ["uniform", "pages"])
def test_command_refuses_what_is_no_folder(what, refusal, tmp_path):
    file = tmp_path / "file"
    file.touch()
    line = refusal(what, "--preset", "tiny", "--results", file)
    rule = "argument --results: must be a folder to read and write."
    assert line.endswith(f"error: {rule} Got '{file}': Not a directory.")


def test_command_refuses_a_folder_that_cannot_be_made(refusal):
    line = refusal("uniform", "--preset", "tiny", "--results", "/proc/x")
    assert line.endswith("Got '/proc/x': No such file or directory.")


@pytest.mark.parametrize("what", ["uniform", "pages"])
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\xff\xfe\x00", b'a\n1,2\n"'])
def test_command_refuses_other_tables(what, content, refusal, tmp_path):
    table = tmp_path / "tables" / "uniform.csv"
    table.parent.mkdir()
    table.write_bytes(content)
    line = refusal(what, "--preset", "tiny", "--results", tmp_path)
    rule = "argument --results: must be a folder with tables of these studies."
    assert f"error: {rule} Got '{tmp_path}'; uniform: " in line
    assert table.read_bytes() == content
    assert not table.with_suffix(".jsonl").exists()


def test_command_refuses_other_journals(refusal, tmp_path):
    journal = tmp_path / "tables" / "uniform.jsonl"
    journal.parent.mkdir()
    journal.write_text("[\n")
    line = refusal("uniform", "--preset", "tiny", "--results", tmp_path)
    assert "with tables of these studies" in line


def test_command_refuses_tables_of_another_run(refusal, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    with Store(_path(tmp_path, STUDIES["uniform"]), STUDIES["uniform"].keys):
        line = refusal("uniform", "--preset", "tiny", "--results", tmp_path)
    assert "error: another run is writing to" in line


def test_errors_of_computations_have_their_traceback(monkeypatch, tmp_path):
    def fail(settings):
        raise ValueError(settings)

    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setitem(STUDIES, "uniform", replace(STUDIES["uniform"], compute=fail))
    with pytest.raises(ValueError, match="seed"):
        main(["uniform", "--preset", "tiny", "--results", str(tmp_path)])


def test_command_refuses_devices_without_pytorch(refusal, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    line = refusal("uniform", "--device", "cuda")
    rule = "argument --device: needs PyTorch, which is not installed. Got 'cuda'."
    assert line.endswith(f"error: {rule}")


def test_command_refuses_devices_that_pytorch_has_not(refusal, monkeypatch):
    def zeros(*_, **__):
        msg = "Expected one of cpu, cuda. And more\nlines"
        raise RuntimeError(msg)

    torch = SimpleNamespace(zeros=zeros, float64=float)
    monkeypatch.setitem(sys.modules, "torch", torch)
    rule = "argument --device: must be a device that PyTorch has, such as cuda."
    line = refusal("uniform", "--device", "foo")
    assert line.endswith(f"error: {rule} Got 'foo': Expected one of cpu, cuda.")


def test_command_refuses_few_rows(refusal):
    line = refusal("gaussian", "--sizes", "100", "9")
    rule = "argument --sizes: must be a whole number of at least 10."
    assert line.endswith(f"error: {rule} Got '9'.")


@pytest.mark.parametrize("size", [499, 1000, 30_000])
def test_command_refuses_days_that_are_not_there(size, refusal, tmp_path):
    options = ["--preset", "tiny", "--results", tmp_path, "--sizes", size]
    rule = "famafrench: `--sizes` must be from 500 to 999: there are 1,499 pairs of days"
    line = refusal("famafrench", *options)
    assert line.endswith(
        f"error: {rule} (simulated), 500 of them to test on. Got {size:,}."
    )


def test_all_test_days_are_there(monkeypatch):
    days = np.random.default_rng(0).normal(size=(6001, 25))
    monkeypatch.setattr(famafrench, "_portfolios", lambda: days)
    assert len(famafrench.sample("french", 5, 1000, 0).test.y) == 5000
    with pytest.raises(
        RefusalError, match=r"to 1,000: there are 6,000 pairs .* Got 1,001\."
    ):
        famafrench.sample("french", 5, 1001, 0)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_command_tells_where_data_are_looked_for(jobs, refusal, monkeypatch, tmp_path):
    """Two jobs read the environment anew; one has read it, and may have read the data."""
    file = tmp_path / famafrench.FILE.relative_to(famafrench.SHARED)
    monkeypatch.setattr(famafrench, "FILE", file)
    monkeypatch.setenv("JOINTDIST_SHARED", str(tmp_path))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    famafrench._portfolios.cache_clear()
    options = ["--sizes", 500, "--runs", 1, "--jobs", jobs, "--results", tmp_path]
    line = refusal("famafrench", *options)
    assert f"error: famafrench: there is no file {tmp_path / 'data' / 'french'}" in line
    assert "could not be downloaded" in line
    assert "JOINTDIST_SHARED" in line


def test_help_tells_where_data_are_looked_for(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "JOINTDIST_SHARED" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["famafrench", "uniform"])
def test_command_tells_that_data_are_simulated(name, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv(VARIABLE, "")
    study = replace(STUDIES[name], compute=lambda _: [{"loss": 1.0}], draw=lambda _: {})
    monkeypatch.setitem(STUDIES, name, study)
    main([name, "--preset", "tiny", "--results", str(tmp_path)])
    reported = "famafrench: data are simulated in this preset" in capsys.readouterr().err
    assert reported == (name == "famafrench")
