"""The simulator's examples run as they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from airbayes.data import save_objects
from airbayes.data.simulator import CLASSES, SimulatorConfig, simulate

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*words: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=EXAMPLES)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_forest_on_an_object_file(tmp_path):
    """Twelve objects a class are few, but a forest that guessed would get 1/6."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    save_objects(tmp_path / "few.npz", simulate(SimulatorConfig(), {"all": 12}, seed=0))
    lines = run("03_shape_forest.py", str(tmp_path / "few.npz")).splitlines()
    accuracy, balanced = (float(number) for number in re.findall(r"0\.\d+", lines[0]))
    assert 0.4 < accuracy < 1
    assert balanced == pytest.approx(accuracy, abs=0.002)
    assert [line.split()[0] for line in lines[-6:]] == list(CLASSES)


def test_pictures(tmp_path):
    run("04_simulator_pictures.py", str(tmp_path))
    for name in ("simulator-gallery.png", "simulator-scan.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
