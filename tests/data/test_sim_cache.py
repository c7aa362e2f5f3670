"""The cache gives back what was drawn, survives damage, and never stops a run."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from airbayes.data.simulator import SimulatorConfig, cache_folder, cached_objects, content_hash, simulate

CONFIG, COUNTS = SimulatorConfig(), {"train": 1}


def same(one, other) -> bool:
    return np.array_equal(one.points, other.points) and np.array_equal(one.instance, other.instance)


def test_second_call_reads_the_file(tmp_path):
    drawn = cached_objects(CONFIG, COUNTS, 3, tmp_path)
    (path,) = tmp_path.iterdir()
    assert content_hash(CONFIG, COUNTS, 3) in path.name
    # A doctored file proves that it is read: the second call returns what the file holds.
    path.write_bytes(_file_of(simulate(CONFIG, COUNTS, 4), tmp_path.parent / "other.npz"))
    assert not same(cached_objects(CONFIG, COUNTS, 3, tmp_path), drawn)
    assert same(drawn, simulate(CONFIG, COUNTS, 3))


def _file_of(objects, path: Path) -> bytes:
    from airbayes.data import save_objects

    save_objects(path, objects)
    return path.read_bytes()


def test_a_damaged_file_is_drawn_again_and_mended(tmp_path):
    drawn = cached_objects(CONFIG, COUNTS, 3, tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.warns(UserWarning, match="Simulating it again"):
        assert same(cached_objects(CONFIG, COUNTS, 3, tmp_path), drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(cached_objects(CONFIG, COUNTS, 3, tmp_path), drawn)
    assert len(list(tmp_path.iterdir())) == 1  # no temporary file stays


def test_a_folder_that_cannot_be_made_only_warns(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="Not cached"):
        drawn = cached_objects(CONFIG, COUNTS, 3, tmp_path / "file" / "folder")
    assert same(drawn, simulate(CONFIG, COUNTS, 3))


def test_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("AIRBAYES_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("AIRBAYES_CACHE")
    assert cache_folder() == tmp_path / "shared" / "airbayes"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "airbayes"
