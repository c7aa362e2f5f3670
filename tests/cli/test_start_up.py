"""Help, version and errors answer at once: they load nothing heavy. What is loaded is asserted, not a time."""

import json
import os
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
UNTIL_JAX = """
import os, sys
class Watch:
    def find_spec(self, name, *_):
        if name == "jax":
            print("level", os.environ.get("TF_CPP_MIN_LOG_LEVEL"), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Watch())
from airbayes.cli.main import main
main(sys.argv[1:])
"""


def ask(script: str, *args: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def run(*args: str) -> tuple[int, set[str]]:
    answer = json.loads(ask(RUN, *args))
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


def test_parts_of_the_package_are_loaded_at_their_first_use():
    use = "import sys, airbayes; dir(airbayes); print(*(name.split('.')[0] for name in sys.modules)); airbayes.samplers"
    done = subprocess.run([sys.executable, "-c", use], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {*HEAVY, "rich", "tyro", "jaxtyping"} == set()


def test_what_counts_as_heavy_is_loaded_by_a_run():
    """The assertion above can fail: these names are what a run imports."""
    _, modules = run("run", "gaussian", "--dry-run", "--methods", "sgld")
    assert {"jax", "numpy", "equinox"} <= modules


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="programs are kept on Linux only")
@pytest.mark.parametrize(
    "last", [[], ["--dry-run"], ["--methods", "dsgld", "--devices", "5"], ["--track", "tensorboard"]]
)
def test_the_loader_of_kept_programs_is_silenced_before_jax_is_loaded(tmp_path, last):
    """JAX sets the level to 1 if it comes first, and every kept program then prints 2 kB of alarm; see cache.py."""
    if "tensorboard" in last:
        pytest.importorskip("tensorboard")
    ours = ("JAX_", "AIRBAYES_", "TF_CPP_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    env["AIRBAYES_CACHE"] = str(tmp_path / "cache")
    assert ask(UNTIL_JAX, "run", "gaussian", "--out", str(tmp_path / "run"), "--quiet", *last, env=env) == "level 3"
