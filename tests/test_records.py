"""Records survive what disks do: every flipped bit, cut and missing file is noticed, and the old one stays."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airbayes.errors import ResultsError
from airbayes.records import MANIFEST, read_record, write_record

ARRAYS = {
    "theta": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "keys/raw": np.array([1, 2**32 - 1], np.uint32),
    "none": np.zeros((0, 5)),
    "one": np.array(-0.1),
    "text": np.array(["a", "ß"]),
}
FACTS = {"step": 12_000, "cells": [{"method": "cd_dsgld", "snr_db": None}]}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    write_record(tmp_path / "r", ARRAYS, FACTS)
    return tmp_path / "r"


def test_what_is_written_is_read(record: Path):
    arrays, facts = read_record(record)
    assert facts == FACTS
    assert list(arrays) == list(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        np.testing.assert_array_equal(array, ARRAYS[name])
    write_record(record, {}, {"new": True})  # replaces
    assert read_record(record) == ({}, {"new": True})
    assert [path.name for path in record.parent.iterdir()] == ["r"]  # nothing left over


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_anywhere_is_noticed(record: Path, data):
    file = data.draw(st.sampled_from(sorted(record.iterdir())))
    raw = file.read_bytes()
    place = data.draw(st.integers(0, 8 * len(raw) - 1))
    broken = bytearray(raw)
    broken[place // 8] ^= 1 << place % 8
    file.write_bytes(broken)
    try:
        arrays, facts = read_record(record)
        # A bit of the white space between the manifest's entries means nothing.
        assert file.name == MANIFEST
        assert facts == FACTS
        assert list(arrays) == list(ARRAYS)
    except ResultsError:
        pass
    finally:
        file.write_bytes(raw)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_file_is_noticed(record: Path, data):
    file = data.draw(st.sampled_from(sorted(record.iterdir())))
    raw = file.read_bytes()
    file.write_bytes(raw[: data.draw(st.integers(0, len(raw) - 1))])
    with pytest.raises(ResultsError):
        read_record(record)
    file.write_bytes(raw)


def test_a_missing_file_is_noticed(record: Path):
    for file in sorted(record.iterdir()):
        raw = file.read_bytes()
        file.unlink()
        with pytest.raises(ResultsError, match=file.name):
            read_record(record)
        file.write_bytes(raw)


def test_a_manifest_of_an_enemy_reaches_nothing_outside_and_asks_for_no_memory(record: Path):
    from airbayes.records import _digest, _sha256

    array = record / "000.npy"
    raw = array.read_bytes()
    (record.parent / "secret.npy").write_bytes(raw)
    content = json.loads((record / MANIFEST).read_text())
    del content["sha256"]
    huge = raw.replace(b"(2, 3, 4), }      ", b"(99999999999,), } ")
    unclosed = raw.replace(b"(2, 3, 4)", b"(2, 3, 4 ")
    assert len(huge) == len(unclosed) == len(raw)
    for file, bytes_, match in (
        ("../secret.npy", raw, "secret"),
        ("000.npy", huge, "header"),
        ("000.npy", unclosed, "head"),
    ):
        array.write_bytes(bytes_)
        content["arrays"] = {"x": {"file": file, "sha256": _sha256(array), "bytes": len(raw)}}
        (record / MANIFEST).write_text(json.dumps(content | {"sha256": _digest(content)}))
        with pytest.raises(ResultsError, match=match):
            read_record(record)


def test_another_version_is_refused(record: Path):
    text = (record / MANIFEST).read_text().replace('"version": 1', '"version": 2')
    (record / MANIFEST).write_text(text)
    with pytest.raises(ResultsError, match="version 2"):
        read_record(record)


def test_objects_are_never_pickled(tmp_path: Path):
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        write_record(tmp_path / "r", {"x": np.array([{}], object)}, {})
    assert not any(tmp_path.iterdir())


def test_a_full_disk_keeps_the_old_record(record: Path):
    """A limit on the size of files stands in for a full disk: the write fails half-way."""
    program = (
        "import numpy as np, resource, signal, sys\n"
        "sys.dont_write_bytecode = True\n"  # cut off, it would stay
        "from pathlib import Path\n"
        "from airbayes.errors import ResultsError\n"
        "from airbayes.experiment.failures import is_disk_full\n"
        "from airbayes.records import write_record\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "try:\n"
        "    write_record(Path(sys.argv[1]), {'small': np.zeros(9), 'large': np.zeros(100_000)}, {})\n"
        "except ResultsError as error:\n"
        "    print(error, is_disk_full(error))\n"
    )
    assert resource.RLIMIT_FSIZE is not None
    done = subprocess.run([sys.executable, "-c", program, str(record)], capture_output=True, text=True, check=True)
    assert "Could not write" in done.stdout
    assert "File too large. Free some space or choose another place. True" in done.stdout
    assert read_record(record)[1] == FACTS
    assert os.listdir(record.parent) == ["r"]
