"""Models in files: bit by bit the same in another process, and nothing hostile gets in."""

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import forged_models
import golden_files
import joblib
import numpy as np
import pandas as pd
import pytest
from golden import scalar
from hostile_files import hostile_variants, parts_of
from own_parts import MedianRegressor, OwnKernel
from safetensors import safe_open
from safetensors.numpy import load_file
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

import jointdist as jd
from jointdist.kernels import Gaussian

DATA = scalar(40, 1)
GIVEN = golden_files.GIVEN
EVERY = [*golden_files.CASES, *golden_files.OTHERS]
SLOW = [  # whose files are made of the same values as those of other cases
    *("joint-auto-vector", "joint-many-vector", "polynomial-many-vector"),
    *("joint-auto", "embedding-auto", "logistic-auto", "regressor-mixed"),
]
OWN = "own_parts.MedianRegressor"


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
    assert found.returncode == 0, found.stderr[-3000:]
    return found.stdout


def joint(**options):
    return jd.JointDistribution(**GIVEN | options)


@pytest.fixture(scope="module")
def model():
    return joint().fit(DATA.X, DATA.Y)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.jd"


def through(model, file, **options):
    model.save(file, **options)
    return jd.load(file, **options)


# --- what is saved is loaded

CHILD = """
import json, sys
from pathlib import Path
import golden_files
import jointdist as jd
found = {}
for file in sorted(Path(sys.argv[1]).iterdir()):
    data = golden_files.data_of(file.stem)
    found[file.stem] = golden_files.digests(jd.load(file), data)
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([name for name in EVERY if name not in SLOW], id="most"),
        pytest.param(SLOW, id="slow", marks=pytest.mark.long),
    ],
)
def test_every_bit_of_every_answer_is_the_same_in_another_process(names, tmp_path):
    expected = {}
    for name in names:
        model = golden_files.fitted(name)
        model.save(tmp_path / f"{name}.jd")
        expected[name] = golden_files.digests(model, golden_files.data_of(name))
    found = json.loads(in_child(CHILD, tmp_path))
    assert found.keys() == expected.keys()
    apart = [
        (name, key)
        for name in names
        for key in found[name].keys() | expected[name].keys()
        if found[name].get(key) != expected[name].get(key)
    ]
    assert apart == []


@pytest.mark.parametrize("name", golden_files.CASES)
def test_files_of_this_version_are_read_with_their_answers(name):
    assert golden_files.misses(name) == {}


def test_files_without_products_of_powers_are_updated_without():
    name = "joint-compressed-vector"
    older, data = jd.load(golden_files.FOLDER / f"{name}.jd"), golden_files.data_of(name)
    older.partial_fit(data.X, data.Y)
    assert older._fitted.kept.sums.y.products is None
    newer = golden_files.fitted(name).partial_fit(data.X, data.Y)
    assert newer._fitted.kept.sums.y.products is not None
    assert len(newer.given(x=data.x).mean()) == len(older.given(x=data.x).mean())


def test_golden_files_are_small_and_all_recorded():
    files = {path.stem: path.stat().st_size for path in golden_files.FOLDER.glob("*.jd")}
    assert files.keys() == golden_files.CASES.keys() == golden_files.known().keys()
    assert max(files.values()) < 60_000
    assert sum(files.values()) < 400_000


def test_a_saved_model_is_the_same_file_again(model, file):
    model.save(file)
    first = file.read_bytes()
    jd.load(file).save(file)
    assert file.read_bytes() == first


def test_columns_keep_their_names_and_categories(file):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"größe": rng.normal(size=40), "art": rng.choice(["ä", "b"], 40)})
    Y = pd.Series(X["größe"] + rng.normal(size=40), name="preis")
    model = jd.DistributionRegressor("kernel", random_state=0).fit(X, Y)
    found = through(model, file)
    assert found.feature_names_in_.tolist() == ["größe", "art"]
    assert found.feature_names_in_.dtype == model.feature_names_in_.dtype
    assert found.given(X[:3]).encoding.names == ("preis",)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    with pytest.warns(jd.UnseenCategoryWarning, match="1 in column 'art'"):
        found.predict(pd.DataFrame({"größe": [0.0], "art": ["c"]}))


@pytest.mark.parametrize("dtype", [bool, "int8", "int32", "uint16", float, str])
def test_labels_keep_their_type(dtype, file):
    y = (DATA.Y > 0).astype(int).astype(dtype)
    for cls in (jd.KernelLogisticRegression, jd.JointClassifier):
        model = cls(**golden_files.ONE).fit(DATA.X, y)
        found = through(model, file)
        assert found.classes_.dtype == model.classes_.dtype
        assert found.predict(DATA.x).tolist() == model.predict(DATA.x).tolist()


def test_parameters_are_those_of_now_and_of_the_fit(file):
    selection = jd.Selection("crps", cv=2, regularizations=[0.1, 0.01])
    executor = jd.Executor(workers=2, block_rows=17)
    model = joint(selection=selection, executor=executor, verbose=0).fit(DATA.X, DATA.Y)
    model.set_params(regularization=7.0, kernel_x=Gaussian((2.0,)))
    found = through(model, file)
    assert found.get_params() == model.get_params()
    assert found._settings == model._settings
    again = [each.refit(marginals="total").predict(DATA.x) for each in (found, model)]
    np.testing.assert_array_equal(*again)


@pytest.mark.parametrize(
    "seed", [np.random.default_rng(0), np.random.RandomState(0), 3, None]
)
def test_generators_become_none(seed, file):
    found = through(joint(random_state=seed).fit(DATA.X, DATA.Y), file)
    assert found.random_state == (3 if seed == 3 else None)


def metadata(file):
    with safe_open(file, "numpy") as found:
        return found.metadata()


def test_a_file_is_read_by_others(model, file):
    model.save(file)
    arrays = load_file(file)
    np.testing.assert_array_equal(arrays["solution_.value"], model.coefficients_)
    np.testing.assert_array_equal(
        arrays["basis_x_.map.landmarks"], model.basis_x_.map.landmarks
    )
    assert json.loads(metadata(file)["jointdist"])["class"] == "JointDistribution"


@pytest.mark.parametrize("name", ["joint-projected", "regressor-kernel", "classifier"])
def test_pickles_and_copies_are_small_and_answer(name, tmp_path):
    model, data = golden_files.fitted(name), golden_files.data_of(name)
    answer = model.predict(data.x)
    golden_files.answers(model, data)  # fills caches, which are not pickled
    joblib.dump(model, tmp_path / "model.joblib")
    size = golden_files.file_of(name).stat().st_size
    assert len(pickle.dumps(model)) < 2 * size
    assert (tmp_path / "model.joblib").stat().st_size < 2 * size
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]  # noqa: S301
    for same in [*copies, joblib.load(tmp_path / "model.joblib")]:
        np.testing.assert_array_equal(same.predict(data.x), answer)


# --- what cannot be saved


def refusal(model, file, **options):
    """Return the message of a refusal, which writes nothing."""
    file.write_text("as it was")
    with pytest.raises(ValueError, match=r"\.save: `") as error:
        model.save(file, **options)
    assert file.read_text() == "as it was"
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    return str(error.value)


def test_a_model_must_be_fitted(file):
    with pytest.raises(NotFittedError):
        joint().save(file)
    assert not file.exists()


def test_kernels_of_users_are_refused(file):
    model = joint(kernel_x=OwnKernel()).fit(DATA.X, DATA.Y)
    assert refusal(model, file).startswith(
        "JointDistribution.save: `kernel_x` must be a kernel of jointdist, as a file holds no "
        "code. Compose it of those in `jointdist.kernels`, or pickle the model. Got OwnKernel"
    )
    model = joint(kernel_y=Gaussian(1.0) + OwnKernel()).fit(DATA.X, DATA.Y)
    assert "`kernel_y.kernels[1]` must be a kernel of jointdist" in refusal(model, file)


def test_criteria_that_are_functions_are_refused_with_the_remedy(file):
    def loss(given, y):
        return (given.mean() - y) ** 2

    how = jd.Selection(loss, cv=2, regularizations=[0.1, 0.01])
    model = joint(selection=how, regularization="auto").fit(DATA.X, DATA.Y)
    message = refusal(model, file)
    assert message.startswith("JointDistribution.save: `selection` must be one whose crit")
    assert "`set_params(selection=None)` before `save`" in message
    found = through(model.set_params(selection=None), file)
    assert found.selection_.criterion == model.selection_.criterion
    np.testing.assert_array_equal(found.predict(DATA.x), model.predict(DATA.x))


def test_estimators_and_subclasses_of_users_are_refused(file):
    class Mine(jd.JointDistribution):
        pass

    message = refusal(Mine(**GIVEN).fit(DATA.X, DATA.Y), file)
    assert "`model` must be one of ['JointDistribution'" in message
    model = jd.ConformalCalibration(Mine(**GIVEN)).fit(DATA.X, DATA.Y)
    assert "`estimator` must be an estimator of jointdist" in refusal(model, file)


def test_models_without_a_solution_are_refused(file):
    model = jd.ConditionalMeanEmbedding(**GIVEN, normalization="sample")
    with pytest.warns(jd.ToleranceWarning):
        model.fit(DATA.X, DATA.Y)
    assert "`solution_` must be feasible" in refusal(model, file)


def test_arguments_are_checked(model, file):
    assert "`trusted` must be a list of full names" in refusal(model, file, trusted="x")
    with pytest.raises(ValueError, match=r"^load: `trusted` must be a list of full names"):
        jd.load(file, trusted=[int])
    with pytest.raises(jd.ModelFileError, match="there is no such file"):
        jd.load(file.with_name("none"))


# --- regressors of users


def regressor(own, **options):
    model = jd.DistributionRegressor(own, random_state=0, **options, **golden_files.PART)
    return model.fit(DATA.X, DATA.Y)


def test_regressors_that_skops_knows_need_no_trust(file):
    model = regressor([LinearRegression(), "kernel"], cv=3)
    found = through(model, file)
    np.testing.assert_array_equal(found.predict(DATA.x), model.predict(DATA.x))
    assert repr(found.regressor) == repr(model.regressor)


def test_regressors_of_users_are_trusted_by_name(file):
    model = regressor(MedianRegressor(), cv=KFold(3))
    message = refusal(model, file)
    assert "DistributionRegressor.save: `regressor` must be of types that skops" in message
    assert f"name them: `trusted=['{OWN}']`. Got MedianRegressor." in message
    message = refusal(model, file, trusted=[OWN])
    (fold,) = re.findall(r"`cv` .* `trusted=\['(.*)'\]`", message)
    model.save(file, trusted=[OWN, fold])
    with pytest.raises(jd.ModelFileError, match=rf"name them: `trusted=\['{fold}'\]`"):
        jd.load(file, trusted=[OWN])
    with pytest.raises(jd.ModelFileError, match="`regressor` must be of types that you"):
        jd.load(file)
    found = jd.load(file, trusted=[OWN, fold])
    np.testing.assert_array_equal(found.predict(DATA.x), model.predict(DATA.x))


def test_without_skops_the_remedy_is_told(file, monkeypatch):
    model = regressor(LinearRegression())
    model.save(file)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(jd.ModelFileError, match=r"pip install jointdist\[files\]"):
        jd.load(file)
    assert "pip install jointdist[files]" in refusal(model, file)


def test_forged_regressors_are_refused(tmp_path):
    """Bytes of skops that are damaged or replaced, with a checksum that agrees."""
    file, model = tmp_path / "good", regressor(LinearRegression())
    model.save(file)
    parts = parts_of(file.read_bytes())
    whole = {
        name: (entry["dtype"], entry["shape"], parts.bytes_of(name))
        for name, entry in parts.table.items()
    }
    names = [name for name, (dtype, _, _) in whole.items() if dtype == "U8"]
    assert names
    rng, found = np.random.default_rng(0), set()
    for number in range(60):
        name = names[number % len(names)]
        data = bytearray(whole[name][2])
        if number >= len(names):
            data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        else:
            data = bytearray(pickle.dumps(model))
        changed = whole | {name: ("U8", [len(data)], bytes(data))}
        path = tmp_path / str(number)
        path.write_bytes(forged_models.with_arrays(parts, changed))
        found.add(forged_models.tried(path, DATA))
    assert found <= {"refused", "loaded"}
    assert "refused" in found


# --- hostile files


def test_forged_models_are_refused_or_answer(tmp_path):
    found = forged_models.tried_all(tmp_path, list(golden_files.CASES), 20, seed=0)
    assert found["refused"] > 200
    assert found["loaded"] > 30


LIMITED = """
import re, resource, sys, warnings
from pathlib import Path
import golden_files
from forged_models import tried, tried_all
from hostile_files import hostile_variants
folder, names = Path(sys.argv[1]), sys.argv[2:]
good, data = golden_files.file_of("logistic-two"), golden_files.data_of("logistic-two")
variants = [*hostile_variants(good.read_bytes(), seed=0)][::11]
tried(good, data)
peak = int(re.search(r"VmPeak:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
limit = (peak << 10) + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = tried_all(folder, names, 60, seed=1)
warnings.simplefilter("ignore")
for name, content in variants:
    file = folder / "variant"
    file.unlink(missing_ok=True)
    file.write_bytes(content)
    result = tried(file, data)
    assert name.startswith("valid:") or result == "refused", name
    found[result] += 1
print(found["refused"], found["loaded"])
"""


def test_hostile_files_take_no_memory(tmp_path):
    names = ["joint-projected", "joint-compressed-vector", "regressor-auto"]
    refused, loaded = map(int, in_child(LIMITED, tmp_path, *names).split())
    assert refused > 400
    assert loaded > 10


def test_coefficients_that_are_no_numbers_are_refused(model, file):
    model.save(file)
    good = file.read_bytes()
    names = [f"valid: solution_.value {what}" for what in ("ones", "ends", "infinity")]
    for what, data in hostile_variants(good, 0):
        if what in names:
            file.write_bytes(data)
            with pytest.raises(jd.ModelFileError, match=r"`solution_\.value` must be"):
                jd.load(file)
            names.remove(what)
        if not names:
            break
    assert not names


def test_a_sum_of_sums_of_sums_is_refused(file):
    """A short file that would take forever to compute."""
    model = joint(kernel_x=Gaussian(1.0) + Gaussian(2.0)).fit(DATA.X, DATA.Y)
    model.save(file)
    parts = parts_of(file.read_bytes())
    values = parts.values["values"]  # noqa: PD011
    number = next(i for i, v in enumerate(values) if v["kind"] == "sum")
    values[number]["fields"]["kernels"] = [{"ref": 0}] * 20_000
    file.write_bytes(forged_models.joined(parts))
    with pytest.raises(jd.ModelFileError, match="must be at most 10,000"):
        jd.load(file)
