"""Files of models of this version, with their recorded answers: later versions must read them.

``python tests/golden_files.py --write`` makes the files and ``answers.json`` of
``tests/files`` anew; names of cases may follow. Do so by hand only, when the format changes.
"""

import json
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import golden
import numpy as np
from golden import X_KERNEL, Y_KERNEL, Data, few, labels, mixed, scalar, vector
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.kernels import Delta, Matern

FOLDER = Path(__file__).with_name("files")
ANSWERS = FOLDER / "answers.json"
CLOSE = 1e-9  # of answers on other machines: files fix all but the rounding of a question

KERNELS = {"kernel_x": X_KERNEL, "kernel_y": Y_KERNEL}
SMALL: dict[str, Any] = {"regularization": 1e-3, "max_rank": 4, "tol": 0.0}
SMALL |= {"random_state": 0}
GIVEN = KERNELS | SMALL
ONE = {"kernel_x": X_KERNEL, **SMALL, "regularization": 0.1}
PROPER = jd.JointDistribution(**GIVEN, positivity="isotonic")
PART = {"distribution": jd.JointDistribution(**GIVEN, positivity="none")}


def joint(data: Data, **options: Any) -> Any:
    return jd.JointDistribution(**GIVEN | options).fit(data.X, data.Y)


def polynomial(data: Data, **options: Any) -> Any:
    model = jd.PolynomialJointDistribution(**{"degree": 2, "regularization": 0.2} | options)
    return model.fit(data.X, data.Y)


def embedding(data: Data, **options: Any) -> Any:
    return jd.ConditionalMeanEmbedding(**GIVEN | options).fit(data.X, data.Y)


def regressor(data: Data, regressor: Any = "kernel", **options: Any) -> Any:
    options = {"random_state": 0} | options
    return jd.DistributionRegressor(regressor, **options).fit(data.X, data.Y)


def calibrated(data: Data, estimator: Any) -> Any:
    return jd.ConformalCalibration(estimator, random_state=0).fit(data.X, data.Y)


def classifier(data: Data, **options: Any) -> Any:
    return jd.JointClassifier(**ONE | options).fit(data.X, data.Y)


def logistic(data: Data, **options: Any) -> Any:
    return jd.KernelLogisticRegression(**ONE | options).fit(data.X, data.Y)


SELECTION = jd.Selection(cv=2, scales="common", regularizations=[1e-3, 1e-1])
SIGNED = {"positivity": "none"}
AUTO = {"kernel_x": "auto", "kernel_y": "auto", "regularization": "auto"}
BOTH = Matern(1.0, nu=0.5).on(0) * Delta(0.2).on(1)

# Names, the data, how a model is fitted to them, and options.
CASES: dict[str, tuple[Callable[[], Data], Callable[..., Any], dict[str, Any]]] = {
    "joint-projected": (partial(scalar, 40, 1), joint, {}),
    "joint-isotonic": (partial(scalar, 40, 1), joint, {"positivity": "isotonic"}),
    "joint-signed": (partial(scalar, 40), joint, SIGNED),
    "joint-tightened": (partial(scalar, 40, 1), joint, {"positivity": "tightened"}),
    "joint-grid": (
        partial(scalar, 40),
        joint,
        {"positivity": "grid", "grid_rows": 30, "marginals": "total"},
    ),
    "joint-vector": (partial(vector, 32), joint, {}),
    "joint-labels": (partial(labels, 32), joint, {"kernel_y": Delta()}),
    "joint-mixed": (partial(mixed, 40), joint, {"kernel_x": BOTH, **SIGNED}),
    "joint-selected": (
        partial(scalar, 40, 1),
        joint,
        {**AUTO, **SIGNED, "selection": SELECTION},
    ),
    "joint-compressed": (partial(scalar, 40, 1), joint, {"support_size": 30, **SIGNED}),
    "joint-compressed-vector": (partial(vector, 28), joint, {"support_size": 25}),
    "polynomial-projected": (partial(scalar, 40, 1), polynomial, {}),
    "polynomial-sos": (partial(scalar, 40), polynomial, {"positivity": "sos"}),
    "embedding": (partial(scalar, 40, 1), embedding, {}),
    "embedding-full": (partial(scalar, 8), embedding, {"low_rank": False}),
    "embedding-constrained": (
        partial(scalar, 40),
        embedding,
        {"positivity": "sample", "normalization": "average"},
    ),
    "classifier": (partial(labels, 40), classifier, {"class_weight": {"mid": 2.0}}),
    "logistic-two": (partial(labels, 40, 2), logistic, {}),
    "logistic-three": (partial(labels, 40), logistic, {"class_weight": "balanced"}),
    "regressor-kernel": (partial(scalar, 40, 1), regressor, PART),
    "regressor-auto": (partial(scalar, 24, 1), regressor, {"regressor": "auto", **PART}),
    "regressor-vector": (
        partial(vector, 40),
        regressor,
        {"scale": False, **PART},
    ),
    "regressor-discrete": (partial(few, 40), regressor, PART),
    "calibrated": (
        partial(scalar, 40, 1),
        calibrated,
        {"estimator": PROPER},
    ),
}
# Those that are too large, or that skops stores, and so are saved and loaded by tests alone.
OTHERS: dict[str, tuple[Callable[[], Data], Callable[..., Any], dict[str, Any]]] = {
    "joint-auto": (partial(scalar, 40), joint, {**AUTO, "max_rank": None, "tol": 1e-3}),
    "joint-auto-vector": (
        partial(vector, 40),
        joint,
        {**AUTO, "max_rank": None, "tol": 1e-3},
    ),
    "joint-ridges": (partial(few, 50), joint, {"regularization": np.full(4, 0.01)}),
    "joint-loo": (partial(scalar, 40), joint, {"regularization": "loo"}),
    "joint-pivot": (partial(scalar, 50), joint, {"positivity": "pivot"}),
    "joint-many": (partial(scalar, 200), joint, {"support_size": 50, "max_rank": 12}),
    "joint-many-isotonic": (
        partial(scalar, 200, 1),
        joint,
        {"support_size": 50, "positivity": "isotonic"},
    ),
    "joint-many-vector": (
        partial(vector, 200),
        joint,
        {"support_size": 50, "max_rank": 12},
    ),
    "polynomial-many-vector": (partial(vector, 200), polynomial, {"support_size": 50}),
    "polynomial-many": (partial(scalar, 200, 1), polynomial, {"support_size": 50}),
    "polynomial-grid": (partial(scalar, 50), polynomial, {"positivity": "grid"}),
    "embedding-auto": (
        partial(scalar, 40),
        embedding,
        {**AUTO, "max_rank": None, "tol": 1e-3},
    ),
    "embedding-many": (partial(scalar, 200), embedding, {"support_size": 50}),
    "embedding-isotonic": (partial(scalar, 50), embedding, {"positivity": "isotonic"}),
    "classifier-auto": (
        partial(labels, 40),
        classifier,
        {"kernel_x": "auto", "max_rank": None},
    ),
    "logistic-auto": (
        partial(labels, 40),
        logistic,
        {"kernel_x": "auto", "regularization": "auto"},
    ),
    "regressor-mixed": (partial(mixed, 60), regressor, {"regressor": "auto"}),
    "regressor-labels": (partial(labels, 50), regressor, {}),
    "regressor-linear": (
        partial(vector, 60),
        regressor,
        {"regressor": [LinearRegression(), "kernel"]},
    ),
    "calibrated-regressor": (
        partial(scalar, 60),
        calibrated,
        {"estimator": jd.DistributionRegressor("kernel")},
    ),
    "calibrated-signed": (
        partial(scalar, 50),
        calibrated,
        {"estimator": jd.JointDistribution(**GIVEN, positivity="none")},
    ),
}


def fitted(name: str) -> Any:
    """Return the model of a case, fitted."""
    data, fit, options = (CASES | OTHERS)[name]
    with golden.told_warnings():
        return fit(data(), **options)


def data_of(name: str) -> Data:
    return (CASES | OTHERS)[name][0]()


def answers(model: Any, data: Data) -> dict[str, Any]:
    """Return the answers of a model to all questions that it has."""
    with golden.told_warnings():
        if hasattr(model, "predict_proba"):
            told = {"score": model.score(data.x, data.y)}
            for ask in ("predict", "predict_proba", "predict_log_proba"):
                told[ask] = getattr(model, ask)(data.x)
            if hasattr(model, "decision_function"):
                told["decision_function"] = model.decision_function(data.x)
            if hasattr(model, "given"):
                given, back = model.given(data.x), model.given(y=data.y[:3])
                told |= {"weights": given.weights(), "back": back.mean()}
        elif hasattr(model, "ratio"):
            told = golden.joint(model, data)
        else:
            told = golden.distributions(model, data)
        if hasattr(model, "squares") and model.positivity == "sos":
            told["squares"] = model.squares(data.x, data.y)
    return told


def updates(model: Any, data: Data) -> dict[str, Any]:
    """Return answers after changes of the rows or of the ridge, each from the same model."""
    X, Y, told = data.X[:5], data.Y[:5], {}
    with golden.told_warnings():
        if hasattr(model, "refit"):
            told["refit"] = model.refit(regularization=0.5).predict(data.x)
        if hasattr(model, "fit_like"):
            again = deepcopy(model).partial_fit(data.x, data.y)
            told["added"] = again.predict(data.x)
            told["forgotten"] = deepcopy(again).forget(X, Y).predict(data.x)
            if not hasattr(model, "degrees_"):  # few rows have other polynomials
                told["merged"] = model.merge(model.fit_like(X, Y)).predict(data.x)
    return told


def digests(model: Any, data: Data) -> dict[str, str]:
    """Return fingerprints of all answers of a model, in which each bit counts."""
    told = answers(model, data) | updates(model, data)
    told |= {"params": repr(model.get_params()), "learned": sorted(model._learned_names)}
    return {key: _digest(value) for key, value in told.items()}


def _digest(value: Any) -> str:
    array = np.asarray(value)
    data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    return f"{array.dtype} {array.shape} {blake2b(data, digest_size=16).hexdigest()}"


def recorded(model: Any, data: Data) -> dict[str, Any]:
    """Return answers as JSON has them; large ones by some entries, their sum and norm."""
    told = answers(model, data)
    return {key: golden.recorded(value) for key, value in told.items()}


def file_of(name: str) -> Path:
    return FOLDER / f"{name}.jd"


@cache
def known() -> dict[str, dict[str, Any]]:
    return json.loads(ANSWERS.read_text())


def misses(name: str) -> dict[str, float]:
    """Return how far the answers of a file are from the recorded ones, if too far."""
    now, then = recorded(jd.load(file_of(name)), data_of(name)), known()[name]
    if now.keys() != then.keys():
        return dict.fromkeys(sorted(now.keys() ^ then.keys()), np.inf)
    shares = golden._SHARES
    found = {
        key: golden.deviation(now[key], then[key], 1.0 if _last(key) in shares else 1e-6)
        for key in then
    }
    return {key: value for key, value in found.items() if not value <= CLOSE}


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def write(names: list[str]) -> None:
    """Write the files of cases, and record their answers."""
    FOLDER.mkdir(exist_ok=True)
    told = dict(known()) if ANSWERS.exists() else {}
    for name in names:
        model = fitted(name)
        model.save(file_of(name))
        told[name] = recorded(model, data_of(name))
        sys.stdout.write(f"{name:28} {file_of(name).stat().st_size:8,} bytes\n")
    lines = [
        f'"{name}":{{\n'
        + ",\n".join(f'"{key}":{_json(told[name][key])}' for key in sorted(told[name]))
        + "\n}"
        for name in sorted(told.keys() & CASES.keys())
    ]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit(__doc__)
    write(sys.argv[2:] or list(CASES))
