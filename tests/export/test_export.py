"""The exported model, asked in a process of its own that knows nothing of airbayes, says what the run says."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from experiment.trained_run import make_objects, write_trained

from airbayes.cli.main import main
from airbayes.errors import ResultsError
from airbayes.experiment.calibration import all_scores
from airbayes.experiment.cells import Cell
from airbayes.experiment.prediction import draw_inputs, predict_clouds
from airbayes.experiment.trained import Wanted, open_trained
from airbayes.export.bundle import example_inputs, named_tensors, run_outputs
from airbayes.export.check import TOLERANCE, compare_with_onnx, run_onnx
from airbayes.export.onnx_graph import build_model

pytest.importorskip("onnxruntime", reason="the extra `export` is not installed")

CELLS = [Cell("cd_dsgld", "common", "full", 30.0, 0), Cell("q_dsgd", None, "full", 30.0, 0)]
STRANGER = """
import json, sys
import numpy as np, onnxruntime
folder = sys.argv[1]
session = onnxruntime.InferenceSession(folder + "/model.onnx", providers=["CPUExecutionProvider"])
example = np.load(folder + "/example.npz")
names = [each.name for each in session.get_outputs()]
outputs = dict(zip(names, session.run(names, {"clouds": example["clouds"]})))
print(json.dumps({name: float(abs(outputs[name] - example[name]).max()) for name in names}))
assert "jax" not in sys.modules and "airbayes" not in sys.modules
"""


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["export", *args])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_trained(tmp_path_factory.mktemp("trained") / "run", CELLS)


@pytest.fixture(scope="module")
def trained(folder):
    return open_trained(folder)


def test_export_and_a_stranger_who_uses_it(folder, trained, capsys):
    assert run(str(folder)) == 0
    text = capsys.readouterr().out
    assert "cd_dsgld:common full 30 dB seed 0, agent 0, 4 samples of θ" in text
    assert "onnxruntime agrees with the run on 64 clouds" in text
    out = folder / "export"
    manifest = json.loads((out / "manifest.json").read_text())
    for name, entry in manifest["files"].items():
        raw = (out / name).read_bytes()
        assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (entry["sha256"], entry["bytes"])
    assert manifest["class_names"] == ["flat", "tall", "round"]
    assert manifest["preprocessing"]["points"] == 16
    assert len(manifest["tensors"]) == 40
    with np.load(out / "samples.npz") as stored:
        flat = np.concatenate([stored[name].reshape(4, -1) for name in manifest["tensors"]], axis=1)
        assert {name: list(stored[name].shape[1:]) for name in stored.files} == manifest["tensors"]
    np.testing.assert_array_equal(flat, trained.theta)
    done = subprocess.run([sys.executable, "-c", STRANGER, str(out)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert set(found) == {"probabilities", "entropy", "mutual_information", "energy"} == set(manifest["outputs"])
    assert max(found.values()) <= TOLERANCE

    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("")
    assert run(str(folder), "--out", str(folder / "mine")) == 2
    assert "holds other files, such as notes.txt. Use another --out, or --force" in capsys.readouterr().err
    assert [path.name for path in (folder / "mine").iterdir()] == ["notes.txt"]

    assert run(str(folder)) == 2
    assert "holds an export. Use another --out, or --force" in capsys.readouterr().err
    assert run(str(folder), "--force", "--method", "q_dsgd", "--agent", "1") == 0
    assert json.loads((out / "manifest.json").read_text())["samples"] == 1


def test_any_number_of_objects_goes_through_as_predict_says(trained):
    """Also one alone, and none, as in a frame without objects;
    and the preprocessing is what the manifest says, done by hand."""
    objects = make_objects(3)
    clouds = [objects.cloud(row) for row in range(len(objects))]
    model = build_model(named_tensors(trained), trained.points, {}).SerializeToString()
    inputs, expected = draw_inputs(trained, clouds, 1)[0], predict_clouds(trained, clouds)
    whole = run_onnx(model, inputs)
    np.testing.assert_allclose(whole["probabilities"], expected.probabilities, atol=1e-5)
    np.testing.assert_allclose(whole["mutual_information"], expected.mutual_information, atol=1e-5)
    assert whole["mutual_information"].max() > 1e-3
    scores = all_scores(trained, clouds)
    np.testing.assert_allclose(whole["energy"], scores["energy"], rtol=1e-5, atol=1e-5)
    assert np.ptp(whole["energy"]) > 1e-2
    none = run_onnx(model, inputs[:0])
    assert {name: values.shape for name, values in none.items()} == {name: (0, *whole[name].shape[1:]) for name in none}
    alone = run_onnx(model, inputs[4:5])
    np.testing.assert_allclose(alone["probabilities"], expected.probabilities[4:5], atol=1e-5)
    exact = next(cloud for cloud in clouds if len(cloud) >= 16)[:16]  # no choice of points
    by_hand = ((exact - exact.mean(axis=0)) / trained.scale_m).astype(np.float32)
    np.testing.assert_allclose(
        run_onnx(model, by_hand[None])["probabilities"], predict_clouds(trained, [exact]).probabilities, atol=1e-5
    )


@pytest.mark.parametrize("layer", ["tnet_input.last.bias", "tnet_feature.points.1.kernel", "head.cloud.0.bias"])
def test_a_model_that_disagrees_is_refused(trained, layer):
    """A mutant each: the tensor of the first sample is that of the second."""
    tensors = named_tensors(trained)
    wrong = tensors[layer].copy()
    wrong[0] = wrong[1]
    model = build_model(tensors | {layer: wrong}, trained.points, {}).SerializeToString()
    inputs = example_inputs(trained)
    found = run_outputs(trained, inputs)
    with pytest.raises(ResultsError, match="does not agree with the run"):
        compare_with_onnx(model, inputs, found)
    broken = found | {"entropy": np.full_like(found["entropy"], np.nan)}
    right = build_model(tensors, trained.points, {}).SerializeToString()
    assert max(compare_with_onnx(right, inputs, found).values()) <= TOLERANCE
    with pytest.raises(ResultsError, match="entropy differs by nan"):
        compare_with_onnx(right, inputs, broken)


def test_other_models_are_chosen_as_in_predict(folder, capsys):
    assert open_trained(folder, Wanted(method="q_dsgd")).theta.shape[0] == 1
    assert run(str(folder), "--method", "sgld", "--out", str(folder / "other")) == 2
    assert "Stored are:" in capsys.readouterr().err
    assert not (folder / "other").exists()
    assert run("nowhere") == 2
    assert "There is no folder nowhere" in capsys.readouterr().err
