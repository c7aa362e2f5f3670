"""The C++ code: compiled once for a machine, whole or not at all, and done without where it cannot be."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from airbayes import native
from airbayes.native import build, load

needs_compiler = pytest.mark.skipif(not native.available(), reason=f"no C++ code: {native.why_not()}")


@pytest.fixture
def quick(monkeypatch):
    """Compiling without optimising takes a third of the time."""
    monkeypatch.setattr(build, "FLAGS", ("-O0", *build.FLAGS[:1], *build.FLAGS[2:]))


@needs_compiler
def test_compiled_once_and_found_again(tmp_path, quick, monkeypatch):
    found = native.compile_library(tmp_path)
    assert found.parent == tmp_path / "native"
    assert [path.name for path in found.parent.iterdir()] == [found.name]  # nothing half-made beside it
    monkeypatch.setattr(build, "_compile", None)
    assert native.compile_library(tmp_path) == found


@needs_compiler
@pytest.mark.parametrize("what", ["source", "flags", "machine", "compiler"])
def test_whatever_the_code_depends_on_gives_another_name(what, tmp_path, monkeypatch):
    compiler = tmp_path / "c++"
    compiler.touch()
    before = build._fingerprint(str(compiler))
    assert build._fingerprint(str(compiler)) == before
    if what == "source":
        for path in build.SOURCES.glob("*.*"):
            if path.suffix in (".h", ".cc"):
                (tmp_path / path.name).write_text(path.read_text())
        (tmp_path / "encoder.h").write_text("//")
        monkeypatch.setattr(build, "SOURCES", tmp_path)
    elif what == "flags":
        monkeypatch.setattr(build, "FLAGS", ("-O1",))
    elif what == "machine":
        monkeypatch.setattr(build, "machine_name", lambda: "another")
    else:
        os.utime(compiler, (1, 1))
    assert build._fingerprint(str(compiler)) != before


def test_without_a_compiler_the_reason_is_said_once(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    load._load.cache_clear()
    try:
        with pytest.warns(UserWarning, match=r"no C\+\+ compiler \(no-such-compiler\).*apt install g\+\+"):
            assert not native.available()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert "no-such-compiler" in str(native.why_not())
    finally:
        load._load.cache_clear()


def test_switched_off_without_a_word(monkeypatch):
    monkeypatch.setenv(native.SWITCH, "off")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert native.why_not() == "switched off by AIRBAYES_NATIVE=off"


def test_what_the_compiler_says_is_passed_on(tmp_path, monkeypatch):
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho 'calls.cc:1: no such header' >&2\necho more >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(native.NativeError, match=r"c\+\+: calls\.cc:1: no such header$"):
        native.compile_library(tmp_path)
    assert list((tmp_path / "native").iterdir()) == []


@needs_compiler
def test_processors_the_compiler_cannot_name(tmp_path, quick, monkeypatch):
    monkeypatch.setattr(build, "FOR_THIS_PROCESSOR", ("-march=no-such", ""))
    assert native.compile_library(tmp_path).exists()


@needs_compiler
def test_folders_of_others_are_not_used(tmp_path, quick):
    """Who can write there can run code as this user."""
    (tmp_path / "native").mkdir()
    (tmp_path / "native").chmod(0o777)
    assert native.compile_library(tmp_path).parent != tmp_path / "native"


@needs_compiler
def test_no_folder_at_all(tmp_path, quick):
    (tmp_path / "file").touch()
    assert native.compile_library(tmp_path / "file").exists()


@needs_compiler
def test_a_compiler_that_fails_after_writing_leaves_nothing(tmp_path, monkeypatch):
    """As on a full disk."""
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho half > "$2"\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(native.NativeError, match="exit code 1"):
        native.compile_library(tmp_path)
    assert list((tmp_path / "native").iterdir()) == []


MEASURE = """
import jax, sys
from airbayes import native
from airbayes.models.self_test import pointnet_against_plain
assert native.available()
print(pointnet_against_plain())
"""


@needs_compiler
@pytest.mark.parametrize("flag", [pytest.param("-march=x86-64", marks=pytest.mark.long), "-march=x86-64-v3"])
def test_other_processors(flag, tmp_path):
    """Vectors of four and of eight floats; what this machine has is tested in tests/models."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if "avx2" not in flags:
        pytest.skip("needs a processor with AVX2")
    code = f"from airbayes.native import build\nbuild.FOR_THIS_PROCESSOR = ({flag!r},)\n{MEASURE}"
    environment = {**os.environ, "AIRBAYES_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert float(done.stdout) < 1e-5
