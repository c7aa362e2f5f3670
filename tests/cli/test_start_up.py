"""Help, version and errors answer at once: they load nothing heavy. What is loaded is asserted, not a time."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "jax",
    "jaxlib",
    "numpy",
    "scipy",
    "equinox",
    "matplotlib",
    "xarray",
    "h5py",
    "networkx",
    "pandas",
    "arviz_stats",
)
RUN = """
import json, sys
from airbayes.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    code = stop.code or 0
print(json.dumps({"code": code, "modules": sorted({name.split(".")[0] for name in sys.modules})}))
"""


def run(*args: str) -> tuple[int, set[str]]:
    done = subprocess.run([sys.executable, "-c", RUN, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["code"], set(answer["modules"])


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        ([], 2),
        (["nonsense"], 2),
        (["run", "--help"], 0),
        (["run", "--list"], 0),
        (["run", "quick", "--help"], 0),
        (["run", "nonsense"], 2),
        (["run", "quick", "--nonsense"], 2),
        (["plan", "--help"], 0),
        (["doctor", "--help"], 0),
        (["cite", "quick"], 0),
        (["new", "--help"], 0),
        (["completion", "--help"], 0),
    ],
)
def test_nothing_heavy_is_loaded_to_answer(args, code):
    found, modules = run(*args)
    assert found == code
    assert modules & set(HEAVY) == set()


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["nonsense"]])
def test_the_first_answer_needs_the_standard_library_only(args):
    _, modules = run(*args)
    assert modules & {"rich", "tyro", "jaxtyping"} == set()


def test_what_counts_as_heavy_is_loaded_by_a_run():
    """The assertion above can fail: these names are what a run imports."""
    _, modules = run("run", "gaussian", "--dry-run")
    assert {"jax", "numpy", "equinox"} <= modules
