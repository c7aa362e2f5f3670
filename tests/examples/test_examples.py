"""The examples run as they are and print what they promise."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str) -> str:
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_posterior_of_a_line():
    """The sampled slope and intercept are within a fifth of a posterior deviation; widths within a fifth."""
    lines = run("01_posterior_of_a_line.py").splitlines()
    sampled, exact = ([float(x) for x in re.findall(r"-?\d+\.\d+", line)] for line in lines)
    for mean, std, true_mean, true_std in zip(sampled[::2], sampled[1::2], exact[::2], exact[1::2], strict=True):
        assert abs(mean - true_mean) < 0.2 * true_std
        assert 0.8 < std / true_std < 1.25
    assert len((EXAMPLES / "01_posterior_of_a_line.py").read_text().splitlines()) <= 40


def test_your_own_channel():
    lines = run("02_your_own_channel.py").splitlines()
    assert [line[:13] for line in lines] == ["clean channel", "clean channel", "bursty channe", "one-bit Q-DSG"]
    assert "peak power used 50%" in lines[1]
    spread = [float(line.split("±")[1].split(",")[0]) for line in lines[:3]]
    assert spread[2] > spread[0]
