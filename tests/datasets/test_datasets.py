"""Portfolios in the format of their author, and simulated pairs against their theory."""

import gzip
import os
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from jointdist.datasets import (
    NormalPair,
    RunningAverages,
    Table,
    fetch_french_portfolios,
    french,
    random_correlation,
)

SHARED = Path(
    os.environ.get("JOINTDIST_SHARED") or Path(__file__).parents[3] / "shared"
).resolve()
FRENCH = SHARED / "data" / "french"
reference = pytest.mark.skipif(
    not FRENCH.is_dir(), reason="no reference data; JOINTDIST_SHARED may say where they are"
)

NAMES = [f"ME{i}_BM{j}" for i in range(1, 6) for j in range(1, 6)]
FACTORS = ["Mkt_RF", "SMB", "HML", "RF"]
HEADER = [name.replace("_", " ") for name in NAMES]
HEADER[0], HEADER[4], HEADER[20], HEADER[24] = (
    "SMALL LoBM",
    "SMALL HiBM",
    "BIG LoBM",
    "BIG HiBM",
)
DAYS = [19260701, 19260702, 19260706, 19260707]
VALUE = np.arange(100.0).reshape(4, 25) / 100 - 0.3
EQUAL = 5 - VALUE
RATES = np.array(
    [
        [0.10, -0.25, -0.27, 0.009],
        [0.45, -0.33, -0.06, 0.009],
        [0.17, 0.30, -0.39, 0.010],
        [0.09, -0.58, 0.02, 0.010],
    ]
)
PORTFOLIOS = "25_Portfolios_5x5_Daily"
FACTOR_FILE = "F-F_Research_Data_Factors_daily"


def rows(days, values):
    """Return rows as he writes them: a date, and numbers in columns of ten."""
    return [
        ",".join([f"{day}", *(f"{v:10.3f}" for v in line)])
        for day, line in zip(days, values, strict=True)
    ]


def portfolios(value=VALUE, equal=EQUAL, days=DAYS, header=HEADER):
    """Return a file of portfolios with all of its sections."""
    head = "," + ",".join(header)
    counts = np.full((len(days), 25), 7.0)
    lines = [
        "This file was created by CMPT_ME_BEME_RETS_DAILY using the 202409 CRSP database.",
        "It contains value- and equal-weighted returns for portfolios formed on ME, BEME.",
        "",
        "Missing data are indicated by -99.99 or -999.",
        "",
    ]
    for title, values in {
        "Average Value Weighted Returns -- Daily": value,
        "Average Equal Weighted Returns -- Daily": equal,
        "Number of Firms in Portfolios": counts,
        "Average Firm Size": counts / 2,
    }.items():
        lines += ["", f"  {title}", head, *rows(days, values), ""]
    lines += ["", "Copyright 2024 Eugene F. Fama and Kenneth R. French"]
    return "\r\n".join(lines) + "\r\n"


def factors(days=DAYS, values=RATES, header="Mkt-RF,SMB,HML,RF"):
    """Return a file of factors."""
    lines = [
        "This file was created by CMPT_ME_BEME_RETS_DAILY using the 202409 CRSP database.",
        "The Tbill return is the simple daily rate that, over the number of trading days",
        "compounds to 1-month TBill rate. Until 202405, data are from Ibbotson Associates.",
        "",
        f",{header}",
        *rows(days, values),
        "",
        "Copyright 2024 Eugene F. Fama and Kenneth R. French",
    ]
    return "\r\n".join(lines) + "\r\n"


def zipped(text, name="data.CSV", method=ZIP_DEFLATED):
    """Return the bytes of a zip file of one text."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", method) as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


def write(folder, first=None, second=None, form="_CSV.zip"):
    """Write both files into a folder, and return it."""
    pack = {
        "_CSV.zip": zipped,
        ".CSV": lambda text: text.encode(),
        ".csv": lambda text: text.replace("\r\n", "\n").encode(),
        ".CSV.gz": lambda text: gzip.compress(text.encode()),
    }[form]
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{PORTFOLIOS}{form}").write_bytes(pack(first or portfolios()))
    (folder / f"{FACTOR_FILE}{form}").write_bytes(pack(second or factors()))
    return folder


def numbered(table):
    """Return the dates of a table as numbers of eight digits."""
    return np.array([int(f"{day}".replace("-", "")) for day in table["date"]])


def assert_is(table, returns=VALUE, rates=RATES, days=DAYS):
    """Compare a table with returns and factors."""
    assert isinstance(table, Table)
    assert list(table) == ["date", *NAMES, *FACTORS]
    assert table["date"].dtype == "M8[D]"
    assert_array_equal(numbered(table), days)
    assert_allclose(table.matrix(*NAMES), returns - rates[:, 3:], atol=1e-12)
    assert_array_equal(table.matrix(*FACTORS), rates)


class TestFormat:
    @pytest.mark.parametrize("form", ["_CSV.zip", ".CSV", ".csv", ".CSV.gz"])
    def test_files_are_read_from_a_folder_a_pair_or_one_beside_the_other(
        self, tmp_path, form
    ):
        folder = write(tmp_path, form=form)
        pair = folder / f"{PORTFOLIOS}{form}", folder / f"{FACTOR_FILE}{form}"
        for path in (folder, str(folder), pair, list(map(str, pair)), pair[0]):
            assert_is(fetch_french_portfolios(path))

    def test_stocks_are_weighted_as_asked(self, tmp_path):
        table = fetch_french_portfolios(write(tmp_path), weighting="equal")
        assert_is(table, returns=EQUAL)

    def test_codes_of_missing_values_become_nan(self, tmp_path):
        value, rates = VALUE.copy(), RATES.copy()
        value[0, 0], value[1, 7], rates[3, 1] = -99.99, -999, -99.99
        table = fetch_french_portfolios(
            write(tmp_path, portfolios(value), factors(values=rates))
        )
        value[0, 0] = value[1, 7] = rates[3, 1] = np.nan
        assert_is(table, value, rates)

    def test_returns_are_missing_where_that_of_bills_is(self, tmp_path):
        rates = RATES.copy()
        rates[2, 3] = -999
        table = fetch_french_portfolios(write(tmp_path, second=factors(values=rates)))
        missing = np.isnan(table.matrix(*NAMES)).all(axis=1)
        assert_array_equal(missing, [False, False, True, False])

    def test_days_of_both_files_are_kept(self, tmp_path):
        later = [*DAYS[1:], 19260708]
        table = fetch_french_portfolios(write(tmp_path, second=factors(later)))
        assert_is(table, VALUE[1:], RATES[:3], DAYS[1:])

    def test_more_factors_do_no_harm(self, tmp_path):
        header = "Mkt-RF,SMB,HML,RMW,CMA,RF"
        values = np.insert(RATES, 3, [[1.0], [2.0]], axis=1)
        table = fetch_french_portfolios(
            write(tmp_path, second=factors(values=values, header=header))
        )
        assert_is(table)

    @pytest.mark.parametrize("names", [NAMES, HEADER, [f"S_BM{k}" for k in range(25)]])
    def test_one_table_may_have_all_columns(self, tmp_path, names):
        head = ",".join(["date", *names, *FACTORS])
        file = tmp_path / "all.csv"
        file.write_text("\n".join([head, *rows(DAYS, np.hstack([VALUE, RATES]))]))
        assert_is(fetch_french_portfolios(file))

    def test_columns_are_known_by_name(self, tmp_path):
        order = np.random.default_rng(0).permutation(25)
        header = [HEADER[k] for k in order]
        text = portfolios(VALUE[:, order], EQUAL[:, order], header=header)
        assert_is(fetch_french_portfolios(write(tmp_path, text)))

    def test_a_table_makes_a_data_frame(self, tmp_path):
        table = fetch_french_portfolios(write(tmp_path))
        assert pd.DataFrame(table).shape == pl.DataFrame(dict(table)).shape == (4, 30)


BROKEN = {
    "months": (
        portfolios().replace("19260", "1926"),
        "rows of days, dated YYYYMMDD. Got n",
    ),
    "text": ("nothing,else", "a file with rows of days, dated YYYYMMDD. Got none in "),
    "other titles": (
        portfolios().replace("Weighted", "Best"),
        r"days whose title is about value weighted returns. Got .*_CSV.zip with \['Average Va",
    ),
    "twice": (portfolios() + "\r\n" + portfolios(), "one table of days whose title is"),
    "other sort": (
        portfolios(header=[name.replace("BM", "INV") for name in HEADER]),
        "a file of the 25 portfolios SMALL LoBM, .*. Got .* with SMALL_LoINV, ME1_INV2, ",
    ),
    "one name twice": (portfolios(header=[*NAMES[:24], NAMES[0]]), "of the 25 portfolios"),
    "few names": (portfolios(header=HEADER[:24]), "a file of the 25 portfolios"),
    "no header": ("19260701,1.0\n", "a file of the 25 portfolios"),
    "few numbers": (
        portfolios().replace("    -0.050,", "", 1),
        r"25 numbers after each date, like its header. Got line 10 of .*: '19260702, ",
    ),
    "word": (portfolios().replace("-0.300", "n/a"), "of numbers after dates. Got .* n/a'"),
    "no such day": (
        portfolios(days=[*DAYS[:3], 19261301]),
        "after dates. Got .*1926-13-01",
    ),
    "same day": (
        portfolios(days=[DAYS[0]] * 4),
        "dates increase. Got line 10 of .*'192607",
    ),
    "days back": (portfolios(days=[*DAYS[:3], 19260705]), "dates increase. Got line 12 of"),
    "odd row": (
        portfolios().replace("19260706", "1926O706"),
        "start with a date YYYYMMDD, up to an empty line. Got line 11 of .*: '1926O706,",
    ),
}


class TestMessages:
    @pytest.mark.parametrize("case", BROKEN)
    def test_portfolios_that_are_not_his(self, tmp_path, case):
        text, message = BROKEN[case]
        folder = write(tmp_path, text)
        with pytest.raises(
            ValueError, match=f"^fetch_french_portfolios: `path` .*{message}"
        ):
            fetch_french_portfolios(folder)

    def test_factors_that_are_not_his(self, tmp_path):
        folder = write(tmp_path, second=factors(header="Mkt-RF,SMB,HML,CMA"))
        with pytest.raises(
            ValueError, match=r"columns Mkt-RF, SMB, HML and RF\. Got .*CMA"
        ):
            fetch_french_portfolios(folder)

    def test_files_without_days_in_common(self, tmp_path):
        later = [day + 10_000 for day in DAYS]
        folder = write(tmp_path, second=factors(later))
        with pytest.raises(
            ValueError, match=r"two files with days in common\. Got none in"
        ):
            fetch_french_portfolios(folder)

    def test_a_folder_must_hold_one_of_each(self, tmp_path):
        with pytest.raises(
            ValueError, match=r"one file 25_Portf.*\.\.\.\. Got .* with \[\]"
        ):
            fetch_french_portfolios(tmp_path)
        write(tmp_path)
        write(tmp_path, form=".csv")
        with pytest.raises(ValueError, match=r"one file 25_.* with \['25_P.*', '25_P.*'\]"):
            fetch_french_portfolios(tmp_path)

    def test_a_file_alone_needs_factors(self, tmp_path):
        file = tmp_path / "returns.csv"
        file.write_text(portfolios())
        with pytest.raises(ValueError, match=r"one file F-F_Research.* with \[\]"):
            fetch_french_portfolios(file)

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere\.zip"):
            fetch_french_portfolios(tmp_path / "nowhere.zip")

    @pytest.mark.parametrize("path", [3, (), ("a",), ("a", "b", "c"), ("a", 3), b"a"])
    def test_what_is_no_path(self, path):
        with pytest.raises(ValueError, match="`path` must be a path, a pair of paths or N"):
            fetch_french_portfolios(path)

    def test_what_is_no_folder_and_no_weighting(self, tmp_path):
        with pytest.raises(ValueError, match=r"`data_home` must be a path or None\. Got 3"):
            fetch_french_portfolios(data_home=3)
        with pytest.raises(ValueError, match=r"`weighting` must be one of .* Got 'size'"):
            fetch_french_portfolios(tmp_path, weighting="size")

    def test_a_pair_the_wrong_way_round(self, tmp_path):
        folder = write(tmp_path)
        pair = folder / FIRST, folder / SECOND
        message = (
            r"^fetch_french_portfolios: `path` must be a file of portfolios, which comes "
            r"first in a pair\. Got a file of factors, .*F-F_Research"
        )
        for path in (pair[::-1], pair[1]):
            with pytest.raises(ValueError, match=message):
                fetch_french_portfolios(path)

    def test_a_pair_of_folders(self, tmp_path):
        folder = write(tmp_path)
        message = (
            r"`path` must be a folder, or a pair of files: .* Got the folder .* in a p"
        )
        for pair in ((folder, folder), (folder / FIRST, folder), (folder, folder / SECOND)):
            with pytest.raises(ValueError, match=message):
                fetch_french_portfolios(pair)

    def test_archives_that_are_not_whole(self, tmp_path):
        folder = write(tmp_path)
        file = folder / f"{PORTFOLIOS}_CSV.zip"
        whole = file.read_bytes()
        packed = gzip.compress(portfolios().encode())
        for content in (whole[:-30], flipped(whole), packed[:-9], flipped(packed)):
            file.write_bytes(content)
            with pytest.raises(
                ValueError, match=r"file of one, and whole\. Got .*_CSV.zip"
            ):
                fetch_french_portfolios(folder)

    def test_archives_of_several_files(self, tmp_path):
        folder = write(tmp_path)
        with ZipFile(folder / f"{PORTFOLIOS}_CSV.zip", "a") as archive:
            archive.writestr("more.csv", "")
        with pytest.raises(ValueError, match=r"of one\. Got \['data.CSV', 'more.csv'\] in"):
            fetch_french_portfolios(folder)


class TestTable:
    def test_columns_are_sequences_of_any_kind(self):
        table = Table({"a": [3, 1], "b": ("yes", "no")}, c=np.array([0.5, 1.5]))
        assert_array_equal(table.matrix("a", "b", "c"), [[3, 1, 0.5], [1, 0, 1.5]])
        assert repr(table) == "Table(2 rows: a, b, c)"
        assert all(isinstance(column, np.ndarray) for column in table.values())
        again = pickle.loads(pickle.dumps(table))  # noqa: S301
        assert_array_equal(again.matrix(*table), table.matrix(*table))
        assert Table() == {}

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            (
                {"a": np.ones(3), "b": np.ones(2)},
                r"`b` must be as long as 'a' \(3 rows\)\. Got 2 rows",
            ),
            ({"a": [1.0], "b": []}, r"`b` must be as long as 'a' \(1 rows\)\. Got 0 rows"),
            ({"a": np.ones((2, 1))}, r"`a` must be a column.*\. Got shape \(2, 1\)"),
            ({"a": 1.0}, r"`a` must be a column.*\. Got shape \(\)"),
            ({"a": [[1.0], [1.0, 2.0]]}, r"`a` must be a column.*\. Got \[\[1.0\], \["),
            ({3: [1.0]}, r"`columns` must be named by strings\. Got 3"),
        ],
    )
    def test_columns_that_make_no_table(self, columns, message):
        with pytest.raises(ValueError, match=f"^Table: {message}"):
            Table(columns)


def flipped(content):
    """Return content with one bit changed in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@contextmanager
def served(answers):
    """Serve some files, and list the names that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(name := self.path.rpartition("/")[2])
            content = answers.get(name)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(answers.get("length", len(content))))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/ftp/", asked
        finally:
            server.shutdown()
            thread.join()


FIRST, SECOND = f"{PORTFOLIOS}_CSV.zip", f"{FACTOR_FILE}_CSV.zip"
GOOD = {FIRST: zipped(portfolios()), SECOND: zipped(factors())}
NOWHERE = "http://127.0.0.1:9/ftp/"  # nobody listens there


class TestDownload:
    @pytest.fixture(autouse=True)
    def directly(self, monkeypatch):
        """Keep proxies out."""
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr(french, "_SITE", NOWHERE)

    @pytest.fixture
    def kept(self, tmp_path, monkeypatch):
        """Return a folder into which files were downloaded."""
        with served(GOOD) as (site, _):
            monkeypatch.setattr(french, "_SITE", site)
            fetch_french_portfolios(data_home=tmp_path)
        monkeypatch.setattr(french, "_SITE", NOWHERE)
        return tmp_path

    def test_files_are_downloaded_once(self, tmp_path, monkeypatch):
        with served(GOOD) as (site, asked):
            monkeypatch.setattr(french, "_SITE", site)
            assert_is(fetch_french_portfolios(data_home=tmp_path))
            assert_is(fetch_french_portfolios(data_home=str(tmp_path)))
        assert asked == [FIRST, SECOND]
        names = sorted(file.name for file in (tmp_path / "french").iterdir())
        assert names == [FIRST, f"{FIRST}.sha256", SECOND, f"{SECOND}.sha256"]

    def test_downloads_are_a_folder_too(self, kept):
        found = kept / "french"
        assert {name: (found / name).read_bytes() for name in GOOD} == GOOD
        assert_is(fetch_french_portfolios(found))

    def test_the_folder_of_scikit_learn_is_the_default(self, kept, monkeypatch):
        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(kept))
        assert_is(fetch_french_portfolios())

    def test_many_may_download_at_once(self, tmp_path, monkeypatch):
        with served(GOOD) as (site, _), ThreadPoolExecutor(4) as pool:
            monkeypatch.setattr(french, "_SITE", site)
            tables = pool.map(
                lambda home: fetch_french_portfolios(data_home=home), [tmp_path] * 4
            )
            for table in tables:
                assert_is(table)

    def test_what_is_missing_is_downloaded(self, kept, monkeypatch):
        (kept / "french" / SECOND).unlink()
        with served(GOOD) as (site, asked):
            monkeypatch.setattr(french, "_SITE", site)
            assert_is(fetch_french_portfolios(data_home=kept))
        assert asked == [SECOND]

    @pytest.mark.parametrize("name", GOOD)
    def test_a_file_that_changed_is_named(self, kept, name):
        file = kept / "french" / name
        file.write_bytes(zipped(portfolios(), method=ZIP_STORED))  # a good zip, but another
        message = rf"`data_home` must be .* SHA-256; delete .* Got another .*{name}\.$"
        with pytest.raises(ValueError, match=message):
            fetch_french_portfolios(data_home=kept)

    def test_a_sum_that_was_emptied_is_no_sum(self, kept):
        (kept / "french" / f"{FIRST}.sha256").write_text("")
        with pytest.raises(ValueError, match="another SHA-256"):
            fetch_french_portfolios(data_home=kept)

    def test_files_may_be_put_there(self, tmp_path):
        write(tmp_path / "french")
        assert_is(fetch_french_portfolios(data_home=tmp_path))

    def test_without_a_network_the_message_says_what_to_do(self, tmp_path):
        with pytest.raises(ConnectionError) as told:
            fetch_french_portfolios(data_home=tmp_path)
        message = str(told.value)
        assert message.startswith(
            f"fetch_french_portfolios: {NOWHERE}{FIRST} could not be "
        )
        assert f"Download {FIRST} and {SECOND} from {NOWHERE} by other means" in message
        assert message.endswith("pass the folder that holds them as `path`.")

    @pytest.mark.parametrize(
        ("answers", "message"),
        [
            ({}, "404"),
            ({FIRST: b"<html>Log in, please</html>"}, "not a zip file"),
            ({FIRST: GOOD[FIRST][:-40]}, "not a zip file"),
            ({FIRST: GOOD[FIRST], "length": 10**6}, "IncompleteRead"),
            (
                {FIRST: flipped(zipped(portfolios(), method=ZIP_STORED))},
                "bad CRC-32 of data",
            ),
            ({FIRST: flipped(GOOD[FIRST])}, "could not be downloaded"),
        ],
    )
    def test_a_bad_answer_is_not_kept(self, tmp_path, monkeypatch, answers, message):
        with served(answers) as (site, _):
            monkeypatch.setattr(french, "_SITE", site)
            with pytest.raises(ConnectionError, match=message):
                fetch_french_portfolios(data_home=tmp_path)
        assert not (tmp_path / "french").exists()


@reference
class TestReference:
    def test_returns_are_those_of_the_paper(self):
        table = fetch_french_portfolios(FRENCH / "ff25_daily_raw_1926_2024.csv.gz")
        known = pd.read_parquet(FRENCH / "ff25_daily_excess_1926_2024.parquet")
        assert_array_equal(table["date"], known["date"].to_numpy())
        names = [*NAMES, *FACTORS]
        assert_allclose(table.matrix(*names), known[names].to_numpy(), atol=1e-12)
        start, stop = np.datetime64("1927-01-03"), np.datetime64("2022-12-30")
        assert ((table["date"] >= start) & (table["date"] <= stop)).sum() == 25_249

    def test_his_file_of_factors(self):
        file = FRENCH / "F-F_Research_Data_Factors_daily.CSV.gz"
        table = fetch_french_portfolios((FRENCH / "ff25_daily_raw_1926_2024.csv.gz", file))
        known = pd.read_csv(file, skiprows=4, skipfooter=2, engine="python", index_col=0)
        assert_array_equal(table.matrix(*FACTORS), known.loc[numbered(table)].to_numpy())

    def test_an_older_vintage(self):
        first = FRENCH / "vintage2020_25_Portfolios_5x5_Daily.CSV.gz"
        second = FRENCH / "vintage2020_ff_daily.csv.gz"
        table = fetch_french_portfolios((first, second))
        returns, rates = (pd.read_csv(file, index_col=0) for file in (first, second))
        assert_is(table, returns.to_numpy(), rates.to_numpy(), returns.index)
        assert table["date"][-1] == np.datetime64("2020-10-30")
        known = pd.read_parquet(FRENCH / "ff25_daily_excess_1926_2024.parquet")
        late = fetch_french_portfolios(first)  # with the factors beside it
        for name in ("ME1_BM1", "ME3_BM3", "ME5_BM5"):
            both = late[name], known[name][: len(late[name])]
            assert np.corrcoef(*both)[0, 1] > 0.9


def log_of(C):
    """Return the matrix logarithm."""
    values, V = np.linalg.eigh(C)
    return (V * np.log(values)) @ V.T


class TestCorrelation:
    @given(size=st.integers(1, 6), scale=st.floats(0, 1.5), seed=st.integers(0, 2**32 - 1))
    def test_numbers_of_the_logarithm_are_those_drawn(self, size, scale, seed):
        C = random_correlation(size, scale=scale, random_state=seed)
        assert_array_equal(np.diag(C), 1.0)
        assert_array_equal(C, C.T)
        least = np.linalg.eigvalsh(C)[0]
        assert least > 0
        above = np.triu_indices(size, 1)
        drawn = np.random.default_rng(seed).normal(scale=scale, size=len(above[0]))
        assert_allclose(log_of(C)[above], drawn, rtol=0, atol=1e-13 / least)

    def test_two_variables_have_the_hyperbolic_tangent(self):
        drawn = np.random.default_rng(5).normal(scale=2.0)
        C = random_correlation(2, scale=2.0, random_state=5)
        assert_allclose(C[0, 1], np.tanh(drawn), rtol=1e-12)

    def test_seeds(self):
        same = [random_correlation(4, random_state=3) for _ in range(2)]
        assert_array_equal(*same)
        rng = np.random.default_rng(3)
        first, second = (random_correlation(4, random_state=rng) for _ in range(2))
        assert_array_equal(first, same[0])
        assert not np.array_equal(first, second)

    @pytest.mark.parametrize("scale", [10.0, 1e5, 1e300])
    def test_too_much_dependence_is_singular(self, scale):
        message = "`scale` must be so small that the matrix is positive definite in fl"
        with pytest.raises(ValueError, match=message):
            random_correlation(6, scale=scale, random_state=0)

    def test_messages(self):
        with pytest.raises(ValueError, match=r"`size` must be an integer from 1\. Got 0"):
            random_correlation(0)
        with pytest.raises(
            ValueError, match=r"`scale` must be zero or positive, finite\. "
        ):
            random_correlation(2, scale=-1.0)
        with pytest.raises(ValueError, match="random_correlation: `random_state` must be"):
            random_correlation(2, random_state="now")


PAIRS = [
    NormalPair.random(3, random_state=1),
    NormalPair(np.diag([4.0, 0.25]) + 0.3),
    RunningAverages(3),
    RunningAverages(1),
]


def label(pair):
    """Return a short name."""
    return f"{type(pair).__name__}({pair.d})"


class TestPairs:
    @pytest.mark.parametrize("pair", PAIRS, ids=label)
    def test_moments_are_conditional_expectations(self, pair):
        """E[(YY' - M(X)) g(X)] = 0 for many g, within five standard errors."""
        X, Y = pair.draw(200_000, random_state=2)
        off = np.einsum("ni,nj->nij", Y, Y) - pair.second_moments(X)
        away = Y - pair.conditional(X)[0]
        tests = [np.ones(len(X)), *X.T, *(X**2).T, *np.cos(X).T]
        for g in tests:
            for left in (off.reshape(len(X), -1), away):
                term = left * g[:, None]
                error = term.std(axis=0) / len(X) ** 0.5
                assert (np.abs(term.mean(axis=0)) <= 5 * error).all()

    @pytest.mark.parametrize("pair", PAIRS, ids=label)
    def test_moments_are_those_of_mean_and_covariance(self, pair):
        X, _ = pair.draw(7, random_state=0)
        mean, covariance = pair.conditional(X)
        assert mean.shape == (7, pair.d)
        assert covariance.shape == (pair.d, pair.d)
        for x, m, moment in zip(X, mean, pair.second_moments(X), strict=True):
            assert_allclose(moment, np.outer(m, m) + covariance, rtol=1e-14)
            # Products of one row and of many may round differently.
            assert_allclose(pair.second_moments(x[None])[0], moment, rtol=1e-14)

    @pytest.mark.parametrize("pair", [*PAIRS, RunningAverages(2, "cauchy")], ids=label)
    def test_draws_depend_on_the_seed_alone(self, pair, monkeypatch):
        X, Y = pair.draw(100, random_state=4)
        assert X.flags.c_contiguous
        assert Y.flags.c_contiguous
        again = pair.draw(100, random_state=np.random.default_rng(4))
        monkeypatch.setattr("jointdist.datasets._designs._BLOCK", 33)
        blocks = pair.draw(100, random_state=4)
        for draw in (again, blocks):
            assert_allclose(draw[0], X, rtol=1e-13, atol=1e-14)
            assert_allclose(draw[1], Y, rtol=1e-13, atol=1e-14)
        assert not np.array_equal(pair.draw(100, random_state=5)[0], X)
        assert pair.draw(0)[0].shape == (0, pair.d)

    @pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[2]], ids=label)
    def test_draws_need_little_more_memory_than_they_return(self, pair):
        n = 500_000
        tracemalloc.start()
        pair.draw(n, random_state=0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1.5 * n * 2 * pair.d * 8

    @pytest.mark.parametrize("pair", PAIRS, ids=label)
    def test_pairs_are_pickled_and_take_data_frames(self, pair):
        X, _ = pair.draw(5, random_state=0)
        again = pickle.loads(pickle.dumps(pair))  # noqa: S301
        frame = pl.DataFrame(X)
        assert_array_equal(again.second_moments(frame), pair.second_moments(X))

    @pytest.mark.parametrize("pair", PAIRS, ids=label)
    def test_messages(self, pair):
        kind = type(pair).__name__
        with pytest.raises(
            ValueError, match=rf"^{kind}.draw: `n` must be an integer from 0"
        ):
            pair.draw(-1)
        with pytest.raises(ValueError, match=rf"^{kind}.draw: `random_state` must be"):
            pair.draw(1, random_state="now")
        message = rf"^{kind}.conditional: `X` must be a table of {pair.d} columns"
        with pytest.raises(ValueError, match=message):
            pair.second_moments(np.zeros((2, pair.d + 1)))


class TestNormalPair:
    @given(d=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
    def test_the_distribution_is_that_of_dense_formulas(self, d, seed):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(2 * d, 4 * d))
        C = A @ A.T
        pair, X = NormalPair(C), rng.normal(size=(3, d))
        slope = C[d:, :d] @ np.linalg.inv(C[:d, :d])
        mean, covariance = pair.conditional(X)
        tight = {"rtol": 1e-8, "atol": 1e-8 * np.abs(C).max()}
        assert_allclose(mean, X @ slope.T, **tight)
        assert_allclose(covariance, C[d:, d:] - slope @ C[:d, d:], **tight)

    def test_draws_have_the_covariance(self):
        pair = NormalPair.random(3, random_state=8)
        Z = np.hstack(pair.draw(400_000, random_state=8))
        C = pair.covariance
        error = np.sqrt((C**2 + np.outer(np.diag(C), np.diag(C))) / len(Z))
        assert (np.abs(Z.T @ Z / len(Z) - C) <= 5 * error).all()
        assert stats.kstest(Z[:, 4], "norm").pvalue > 1e-3

    def test_a_random_pair_has_a_random_correlation(self):
        pair = NormalPair.random(2, scale=0.5, random_state=3)
        assert pair.d == 2
        C = random_correlation(4, scale=0.5, random_state=3)
        assert_array_equal(pair.covariance, C)

    def test_the_matrix_stays_as_it_was(self):
        C = np.eye(2)
        pair = NormalPair(C)
        C[0, 1] = C[1, 0] = 0.5
        assert_array_equal(pair.covariance, np.eye(2))
        with pytest.raises(ValueError, match="read-only"):
            pair.covariance[0, 0] = 2.0

    @pytest.mark.parametrize(
        ("C", "got"),
        [
            (np.eye(3), r"shape \(3, 3\)"),
            (np.ones((2, 4)), r"shape \(2, 4\)"),
            (np.zeros((0, 0)), r"shape \(0, 0\)"),
            (np.array([[1.0, 0.5], [0.4, 1.0]]), r"array\("),
            (np.array([[1.0, np.nan], [np.nan, 1.0]]), r"array\("),
            (np.array([[1.0, 2.0], [2.0, 1.0]]), "smallest eigenvalue -1"),
            ("abc", "'abc'"),
            ([["1", "0"], ["0", "1"]], r"\[\['1', '0'\]"),
            ([[1.0, 0.5], [0.5]], r"\[\[1.0, 0.5\], \[0.5\]\]"),
            (np.eye(2) + 0j, r"array\(.*j"),
            ([[10**400, 0], [0, 1]], r"\[\[1000"),
            ({}, "{}"),
        ],
    )
    def test_matrices_that_are_no_covariances(self, C, got):
        message = "`covariance` must be a symmetric, positive definite matrix of even size"
        with pytest.raises(ValueError, match=f"(?s)^NormalPair: {message}. Got {got}"):
            NormalPair(C)

    def test_a_pair_needs_variables(self):
        with pytest.raises(ValueError, match=r"^NormalPair.random: `d` must be an integer"):
            NormalPair.random(0)


def numbers(pair, n, seed):
    """Return the independent numbers behind averages."""
    Z = np.hstack(pair.draw(n, random_state=seed))
    return np.diff(Z * np.arange(1, Z.shape[1] + 1), axis=1, prepend=0.0)


class TestRunningAverages:
    def test_uniform_numbers_are_behind(self):
        U = numbers(RunningAverages(3), 50_000, 1)
        for column in U.T:
            assert stats.kstest(column, "uniform").pvalue > 1e-3
        C = np.corrcoef(U.T) - np.eye(6)
        assert np.abs(C).max() < 5 / len(U) ** 0.5

    def test_averages_of_cauchy_numbers_are_cauchy(self):
        pair = RunningAverages(3, "cauchy")
        Z = np.hstack(pair.draw(50_000, random_state=1))
        dist = stats.cauchy(scale=0.1)
        for column in (*Z.T, *numbers(pair, 50_000, 1).T):
            assert stats.kstest(column, dist.cdf).pvalue > 1e-3

    def test_cauchy_numbers_have_no_moments(self):
        pair = RunningAverages(2, "cauchy")
        message = "`distribution` must be 'uniform': others have no moments. Got 'cauchy'"
        for ask in (pair.conditional, pair.second_moments):
            with pytest.raises(ValueError, match=message):
                ask(np.zeros((1, 2)))

    def test_arguments(self):
        with pytest.raises(ValueError, match=r"^RunningAverages: `d` must be an integer"):
            RunningAverages(0)
        with pytest.raises(
            ValueError, match=r"`distribution` must be one of .* Got 'normal"
        ):
            RunningAverages(2, "normal")
