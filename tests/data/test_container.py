"""Files of models: what is written is read, and nothing that is hostile or half gets in."""

import json
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hostile_files import framed, header_end, hostile_variants, parts_of, rechecksummed
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from safetensors import safe_open
from safetensors.numpy import load_file

import jointdist
from jointdist.data.container import read_container, write_container
from jointdist.data.strict_json import canonical, parsed
from jointdist.errors import JointdistError, ModelFileError

DTYPES = [
    "bool",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "int64",
    "uint64",
    "float32",
    "float64",
]
HEADER = {
    "model": "joint",
    "kernel": {"family": "gaussian", "scales": [0.5, 1e-300, -0.0, 3.0]},
    "columns": ["größe", "\ud800", 'a"\\[[{', "", "\u2028\0"],
    "n": 2**63 - 1,
    "least": -(2**63),
    "fitted": True,
    "classes": None,
    "nothing": [{}, []],
}


def sample_arrays():
    rng = np.random.default_rng(0)
    return {
        "coefficients": rng.normal(size=(6, 5)),
        "pivots": np.arange(7),
        "small": rng.normal(size=3).astype(np.float32),
        "codes": np.arange(-2, 3, dtype=np.int32),
        "keys": rng.integers(2**64, size=4, dtype=np.uint64),
        "text": np.frombuffer(b"categories", np.uint8),
        "flags": np.array([[True, False, True]]),
        "empty": np.empty((0, 3)),
        "ridge": np.array(0.25),
    }


@pytest.fixture
def good(tmp_path):
    """Return the path of a good file."""
    file = tmp_path / "model.safetensors"
    write_container(file, HEADER, sample_arrays())
    return file


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    """Return hostile files by name."""
    file = tmp_path_factory.mktemp("good") / "model.safetensors"
    write_container(file, HEADER, sample_arrays())
    return list(hostile_variants(file.read_bytes(), seed=0))


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in found.items():
        assert_array_equal(array, expected[name], strict=True)
        assert array.tobytes() == np.ascontiguousarray(expected[name]).tobytes()


def names(folder):
    """Return the names of all that lies in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def put(file, data):
    """Write a new file; file systems flush one that is written over, which takes long."""
    file.unlink(missing_ok=True)
    file.write_bytes(data)


def in_child(code, *arguments):
    """Return what a program prints, which imports what tests import."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    found = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


# --- what is written is read


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
ARRAYS = st.dictionaries(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=8),
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(
            dtype, hnp.array_shapes(min_dims=0, max_dims=8, min_side=0, max_side=3)
        )
    ),
    max_size=5,
)


@given(st.dictionaries(st.text(max_size=5), PLAIN, max_size=4), ARRAYS)
def test_what_is_written_is_read(header, arrays):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m"
        write_container(file, header, arrays)
        found = read_container(file)
        assert found.header == header
        assert canonical(found.header) == canonical(header)  # 1 is not 1.0 nor True
        same(found.arrays, arrays)
        same(load_file(file), arrays)


def test_arrays_are_owned_read_only_and_aligned(good):
    found = read_container(good).arrays
    for array in found.values():
        assert array.flags.owndata
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.dtype.isnative
        assert not array.flags.writeable
        assert array.base is None


@pytest.mark.parametrize(
    "made",
    {
        "big endian": lambda a: a.astype(">f8"),
        "transposed": lambda a: a.T,
        "reversed": lambda a: a[::-1, ::-2],
        "Fortran": np.asfortranarray,
        "repeated": lambda a: np.broadcast_to(a[:1], (5, a.shape[1])),
        "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
    }.items(),
    ids=lambda item: item[0],
)
def test_any_layout_is_written_as_plain_rows(made, tmp_path):
    array = made[1](np.random.default_rng(0).normal(size=(4, 6)))
    write_container(tmp_path / "m", {}, {"a": array})
    assert_array_equal(read_container(tmp_path / "m").arrays["a"], array)
    assert_array_equal(load_file(tmp_path / "m")["a"], array)


def test_other_readers_find_arrays_and_metadata(good):
    same(load_file(good), sample_arrays())
    with safe_open(good, "numpy") as file:
        metadata = file.metadata()
    assert json.loads(metadata.pop("jointdist")) == HEADER
    assert re.fullmatch("[0-9a-f]{64}", metadata.pop("checksum"))
    assert metadata == {
        "format": "jointdist-model",
        "format_version": "1",
        "library_version": jointdist.__version__,
    }


def test_arrays_begin_at_multiples_of_their_items(good):
    data = good.read_bytes()
    assert header_end(data) % 8 == 0
    for name, entry in parts_of(data).table.items():
        assert entry["data_offsets"][0] % sample_arrays()[name].itemsize == 0


def test_a_file_is_a_function_of_what_it_holds(good):
    data = good.read_bytes()
    header, arrays = dict(reversed(HEADER.items())), sample_arrays()
    write_container(good, header, dict(reversed(arrays.items())))
    assert good.read_bytes() == data
    assert rechecksummed(data) == data  # the checksum is what the format says


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"a": np.nan}, r"`header\['a'\]` must be finite. Got nan"),
        ({"a": [1.0, -np.inf]}, r"`header\['a'\]\[1\]` must be finite. Got -inf"),
        ({"a": 2**63}, r"`header\['a'\]` must be an integer of 64 bits"),
        ({"a": -(2**63) - 1}, r"`header\['a'\]` must be an integer of 64 bits"),
        ({"a": (1, 2)}, r"`header\['a'\]` must be a plain dict, .* Got \(1, 2\)"),
        ({"a": np.float64(1)}, r"`header\['a'\]` must be a plain dict"),
        (
            {"a": {1: 2}},
            r"`header\['a'\]` must be a dict whose keys are strings. Got a key 1",
        ),
        (
            {"a": json.loads("[" * 64 + "]" * 64)},
            "must be at most 64 levels deep. Got more",
        ),
        (
            {"a": "x" * (1 << 20)},
            r"`header` must be at most 1,048,576 bytes .* Got 1,048,7\d\d",
        ),
    ],
)
def test_headers_that_are_no_plain_trees(header, message, good):
    data = good.read_bytes()
    with pytest.raises(ValueError, match=f"^write_container: .*{message}"):
        write_container(good, header, {})
    assert good.read_bytes() == data


def test_a_header_may_be_just_as_deep_and_as_large(tmp_path):
    header = {"a": json.loads("[" * 63 + "]" * 63), "b": ["x" * 500_000, '"' * 100_000]}
    write_container(tmp_path / "m", header, {})
    assert read_container(tmp_path / "m").header == header


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"a": np.zeros(2, "float16")},
            r"`arrays\['a'\]` must be of bool, .* Got dtype\('flo",
        ),
        ({"a": np.array(["x"])}, r"`arrays\['a'\]` must be of bool"),
        ({"a": np.array([None])}, r"`arrays\['a'\]` must be of bool"),
        ({"a": np.zeros(2, complex)}, r"`arrays\['a'\]` must be of bool"),
        ({"a": np.zeros(2, "m8[s]")}, r"`arrays\['a'\]` must be of bool"),
        ({"a": np.zeros(2, [("x", "f8")])}, r"`arrays\['a'\]` must be of bool"),
        ({"a": [1.0]}, r"`arrays\['a'\]` must be a NumPy array. Got <class 'list'>"),
        ({"a": np.ma.array([1.0], mask=[True])}, "must be an array without a mask"),
        ({"a": np.zeros([1] * 9)}, "must be an array of at most 8 axes. Got 9 axes"),
        ({"__metadata__": np.zeros(1)}, "must be named in printable ASCII"),
        ({"é": np.zeros(1)}, "must be named in printable ASCII, .* Got 'é'"),
        ({"": np.zeros(1)}, "must be named in printable ASCII"),
        (
            {str(i): np.zeros(0) for i in range(4097)},
            "must be at most 4,096 arrays. Got 4,097",
        ),
    ],
)
def test_arrays_that_have_no_place(arrays, message, tmp_path):
    with pytest.raises(ValueError, match=f"^write_container: .*{message}"):
        write_container(tmp_path / "m", {}, arrays)
    assert names(tmp_path) == []


def test_as_many_arrays_as_are_written_are_read(tmp_path):
    arrays = {str(i): np.array(i) for i in range(4096)}
    write_container(tmp_path / "m", {}, arrays)
    same(read_container(tmp_path / "m").arrays, arrays)


# --- whole or not at all


def test_an_interrupt_at_any_line_leaves_the_old_file_or_the_new(good):
    """Each line that writing runs through is interrupted once."""
    old, new = good.read_bytes(), {"b": np.arange(5)}
    files = {"container.py", "container_header.py", "atomic.py", "strict_json.py"}
    seen, outcomes = set(), Counter()
    while True:
        before = len(seen)

        def trace(frame, event, _, before=before):
            if Path(frame.f_code.co_filename).name not in files:
                return None
            place = (frame.f_code.co_filename, frame.f_lineno)
            if event == "line" and len(seen) == before and place not in seen:
                seen.add(place)
                raise KeyboardInterrupt
            return trace

        put(good, old)
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            write_container(good, {}, new)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(previous)
        assert names(good.parent) == [good.name]
        replaced = "b" in read_container(good).arrays
        same(read_container(good).arrays, new if replaced else sample_arrays())
        if len(seen) == before:
            break
        outcomes[replaced] += 1
    assert replaced  # what was not interrupted
    assert outcomes[False] > 50
    assert outcomes[True] > 0  # after the file has moved


FULL = """
import resource, sys
import numpy as np
from jointdist.data.container import write_container
from jointdist.errors import ModelFileError
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    write_container(sys.argv[1], {}, {"a": np.zeros(1 << 18)})
except ModelFileError as error:
    print(error, type(error.__cause__).__name__, sep="|")
"""


def test_a_full_disk_leaves_the_old_file(good):
    message, cause = in_child(FULL, good).strip().split("|")
    assert message == f"{str(good)!r} could not be written: File too large."
    assert cause == "OSError"
    assert names(good.parent) == [good.name]
    same(read_container(good).arrays, sample_arrays())


RIVAL = """
import sys
import numpy as np
from jointdist.data.container import write_container
for i in range(25):
    write_container(sys.argv[1], {"who": sys.argv[2]}, {"a": np.full(20_000, i)})
"""


def test_two_processes_may_write_one_file(good):
    """Whoever reads meanwhile finds a whole file as well."""
    paths = os.pathsep.join(sys.path)
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(good), who],
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )
        for who in "ab"
    ]
    while any(rival.poll() is None for rival in rivals):
        found = read_container(good)
        assert found.header == HEADER or len(set(found.arrays["a"])) == 1
    assert [rival.returncode for rival in rivals] == [0, 0]
    found = read_container(good)
    assert found.header["who"] in "ab"
    assert_array_equal(found.arrays["a"], np.full(20_000, 24))
    assert names(good.parent) == [good.name]


# --- permissions, links, and what is no file


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0, 0o666)])
def test_a_new_file_has_the_usual_permissions(umask, mode, tmp_path):
    previous = os.umask(umask)
    try:
        write_container(tmp_path / "m", {}, {})
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(mode, good):
    good.chmod(mode)
    write_container(good, {"new": True}, {})
    assert stat.S_IMODE(good.stat().st_mode) == mode
    assert read_container(good).header == {"new": True}


def test_a_link_stays_and_the_file_it_leads_to_is_replaced(good, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(good.name)
    write_container(link, {"new": True}, {})
    assert link.is_symlink()
    assert not good.is_symlink()
    assert read_container(good).header == read_container(link).header == {"new": True}


def test_a_link_to_nothing_becomes_one_to_a_file(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/m")
    with pytest.raises(ModelFileError, match=r"link' could not be read: there is no such"):
        read_container(tmp_path / "link")
    write_container(tmp_path / "link", {}, {})
    assert names(tmp_path / "folder") == ["m"]
    assert read_container(tmp_path / "link").header == {}


def places(folder):
    """Return what is no file, with what is said of writing and of reading it."""
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "file").write_text("x")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    regular = "could not be written: it is not a regular file"
    return {
        folder / "missing" / "m": ("its folder does not exist", "there is no such file"),
        folder: (
            "could not be written: it is a folder",
            "could not be read: Is a directory",
        ),
        folder / "pipe": (regular, "is not a model file: it is not a regular file"),
        folder / "socket": (regular, "could not be read: No such device"),
        Path("/dev/null"): (regular, "is not a model file: it is not a regular file"),
        Path("/dev/zero"): (regular, "is not a model file: it is not a regular file"),
        folder / "loop": ("written: Too many levels of", "read: Too many levels of"),
        folder / "file" / "m": ("written: Not a directory", "read: Not a directory"),
        "": ("could not be written: it is a folder", "read: there is no such file"),
        "a\0b": ("could not be written: .*null", "could not be read: .*null"),
        "\ud800": ("could not be written: .*surrogate", "could not be read: .*surrogate"),
        folder / ("x" * 300): ("written: File name too long", "read: File name too long"),
    }


def test_what_is_no_file_is_named(monkeypatch):
    with tempfile.TemporaryDirectory() as folder:  # names of sockets are short
        monkeypatch.chdir(folder)
        for path, (writing, reading) in places(Path(folder)).items():
            before = names(Path(folder))
            start = "^" + re.escape(repr(os.fspath(path)))
            with pytest.raises(
                ModelFileError, match=f"{start} .*{writing}.*[.]$"
            ) as caught:
                write_container(path, {}, {"a": np.arange(3)})
            assert isinstance(caught.value.__cause__, OSError)
            with pytest.raises(ModelFileError, match=f"{start} .*{reading}.*[.]$"):
                read_container(path)
            assert names(Path(folder)) == before


READ_ONLY = """
import os, sys
from jointdist.data.container import write_container
from jointdist.errors import ModelFileError
if os.getuid() == 0:  # who may write anywhere
    os.setuid(65534)
for path in sys.argv[1:]:
    try:
        write_container(path, {}, {})
    except ModelFileError as error:
        print(error, type(error.__cause__).__name__, sep="|")
"""


def test_what_is_read_only_stays():
    with tempfile.TemporaryDirectory() as folder:  # which others may enter, once told so
        locked, free = Path(folder) / "locked", Path(folder) / "free"
        for place, file_mode, mode in [(locked, 0o666, 0o555), (free, 0o444, 0o777)]:
            place.mkdir()
            write_container(place / "old", HEADER, {})
            (place / "old").chmod(file_mode)
            place.chmod(mode)
        Path(folder).chmod(0o755)
        expected = {
            locked / "old": "Permission denied",
            locked / "new": "Permission denied",
            free / "old": "it is read-only",
        }
        found = in_child(READ_ONLY, *expected).splitlines()
        assert found == [
            f"{str(path)!r} could not be written: {why}.|PermissionError"
            for path, why in expected.items()
        ]
        locked.chmod(0o755)
        for place in (locked, free):
            assert names(place) == ["old"]
            assert read_container(place / "old").header == HEADER


# --- hostile files


def outcome(file):
    """Return what is said of a file, or None where it is read."""
    try:
        read_container(file)
    except ModelFileError as error:
        return str(error)
    return None


def test_every_hostile_file_is_refused(variants, tmp_path):
    file, counts, valid = tmp_path / "m", Counter(), Counter()
    start = re.escape(repr(str(file)))
    kinds = "is not a model file|is truncated|is damaged|has an invalid header|was written"
    for name, data in variants:
        put(file, data)
        said = outcome(file)
        if name.startswith("valid:"):
            valid[said is None] += 1
            assert said is None or said.endswith("has values beyond true and false.")
        else:
            assert said is not None, name
            assert re.match(f"{start} ({kinds}).{{,300}}[.]$", said, re.DOTALL), name
            counts[name.partition(":")[0]] += 1
    assert counts.total() > 1000
    assert counts["flipped"] > 500
    assert valid[True] > 300


def test_each_bit_counts(tmp_path):
    """A file with any one bit flipped is refused."""
    file = tmp_path / "m"
    write_container(file, {"a": "\x1f\xef"}, {"x": np.arange(2), "flag": np.array(True)})
    data = file.read_bytes()
    for place in range(8 * len(data)):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        put(file, changed)
        with pytest.raises(ModelFileError):
            read_container(file)


LIMITED = """
import re, resource, sys
from pathlib import Path
import numpy as np
from hostile_files import hostile_variants
from jointdist.data.container import read_container
from jointdist.errors import ModelFileError
good, file = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
variants = list(hostile_variants(good, seed=1))
peak = int(re.search(r"VmPeak:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
limit = (peak << 10) + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
refused = loaded = 0
for name, data in variants:
    file.unlink(missing_ok=True)
    file.write_bytes(data)
    try:
        read_container(file)
        assert name.startswith("valid:"), name
        loaded += 1
    except ModelFileError:
        refused += 1
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
try:
    np.ones(300 << 20, np.uint8)
except MemoryError:
    print(refused, loaded, grown >> 10)
"""


def test_hostile_files_take_no_memory(good, tmp_path):
    refused, loaded, grown = map(int, in_child(LIMITED, good, tmp_path / "m").split())
    assert refused > 1000
    assert loaded > 100
    assert grown < 200  # MB


def test_large_files_are_refused_before_they_are_read(good):
    """A file of 5 GiB that takes no place on disk, and would be one array."""
    parts = parts_of(good.read_bytes())
    size = 5 << 30
    table = {"a": {"data_offsets": [0, size], "dtype": "U8", "shape": [size]}}
    header = canonical(table | {"__metadata__": parts.metadata}).encode()
    good.write_bytes(framed(header, b""))
    os.truncate(good, good.stat().st_size + size)
    with pytest.raises(
        ModelFileError, match=r"is too large: it has 5,368,\d+,\d+ bytes, and"
    ):
        read_container(good)


def test_the_largest_size_is_the_caller_s(good):
    size = good.stat().st_size
    same(read_container(good, most_bytes=size).arrays, sample_arrays())
    message = f"is too large: it has {size:,} bytes, and `most_bytes` is {size - 1:,}[.]$"
    with pytest.raises(ModelFileError, match=message):
        read_container(good, most_bytes=size - 1)


MESSAGES = {
    "foreign: empty": "is not a model file: it is empty",
    "foreign: pickle": "is not a model file: it does not begin as one",
    "foreign: zip": "is not a model file: it does not begin as one",
    "foreign: HTML": "is not a model file: it does not begin as one",
    "foreign: NumPy": "is not a model file: it does not begin as one",
    "foreign: safetensors": "is not a model file: it is a safetensors file of something else",
    "truncated: 5 of": "is not a model file, or truncated: it has 5 bytes",
    "truncated: 16 of": "is truncated: [0-9,]+ bytes of its header are missing",
    "extended: 8 bytes": "is damaged: 8 bytes follow its last array",
    "length: 1048577": "has an invalid header: its length is 1,048,577, more than 1,048,576",
    "header: repeated array": "has an invalid header: a name appears twice",
    "header: deep lists": "has an invalid header: it has more than 64 levels",
    "header: NaN": "has an invalid header: NaN is not a number",
    "header: not UTF-8": "has an invalid header: .* can't decode",
    "header: spaces": "has an invalid header: it is not written as this library writes it",
    "header: 5,000 empty": "has an invalid header: it has 5,0.. arrays, more than 4,096",
    "entry: codes {'shape': [46": "has an invalid header: array 'codes' has no valid shape",
    "place: gap for codes": "is damaged: array .* does not follow another",
    "place: codes twice": "is damaged: array .* does not follow another",
    "place: arrays without bytes": "is truncated: [0-9]+ bytes of its arrays are missing",
    "metadata: newer version 2": "was written by a newer version of jointdist, '9.8.7': upgr",
    "values: [] of 2": "has an invalid header: its values are not a dict",
    'values: {"a":1,"a":1}': "has an invalid header: of its values, a name appears twice",
    "values: bools": "is damaged: array 'flag' has values beyond true and false",
}


def test_messages_say_what_is_wrong(variants, tmp_path):
    file = tmp_path / "m"
    for start, message in MESSAGES.items():
        put(file, next(content for name, content in variants if name.startswith(start)))
        with pytest.raises(ModelFileError, match=f"m' {message}"):
            read_container(file)


def test_a_flipped_bit_is_damage(good):
    data = good.read_bytes()
    put(good, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="is damaged: its checksum differs"):
        read_container(good)


def test_a_truncated_array_is_told_from_a_damaged_one(good):
    good.write_bytes(good.read_bytes()[:-3])
    with pytest.raises(
        ModelFileError, match="is truncated: 3 bytes of its arrays are missing"
    ):
        read_container(good)


def test_errors_are_those_of_arguments_and_of_the_library():
    assert issubclass(ModelFileError, JointdistError)
    assert issubclass(ModelFileError, ValueError)


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: framed(b"{" + b, b)))
def test_any_bytes_are_refused(data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with pytest.raises(ModelFileError):
            read_container(file.name)


# --- JSON


@given(st.text(st.sampled_from('[]{}",\\:1ae.-\n '), max_size=60))
def test_json_is_read_as_the_standard_library_reads_it(text):
    """Or refused, where names repeat and numbers are beyond 64 bits."""
    try:
        expected = json.dumps(json.loads(text))
    except ValueError:
        expected = None
    try:
        found = json.dumps(parsed(text))
    except ValueError as error:
        limited = re.search("twice|too large|64 bits", str(error))
        assert limited or expected is None
    else:
        assert found == expected


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 5000])
@pytest.mark.parametrize("kind", ["lists", "dicts", "in a string", "side by side"])
def test_depth_is_that_of_brackets_outside_strings(depth, kind):
    texts = {
        "lists": "[" * depth + "]" * depth,
        "dicts": '{"]":' * depth + "1" + "}" * depth,
        "in a string": json.dumps(["[" * depth + '\\"{' * depth + "\\"]),
        "side by side": "[" + ",".join(["[]"] * depth) + "]",
    }
    if kind in {"lists", "dicts"} and depth > 64:
        with pytest.raises(ValueError, match=r"^it has more than 64 levels$"):
            parsed(texts[kind])
    else:
        assert parsed(texts[kind]) == json.loads(texts[kind])
