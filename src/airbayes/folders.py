"""Folders as people name them: is this one a results folder, and can that one be written? Asked before any work."""

import errno
import os
import tempfile
from pathlib import Path

from airbayes.errors import ResultsError

PROGRESS = "progress"  # of a run that is under way, or was stopped


def check_results_folder(folder: Path, needed: str = "") -> None:
    """Raise ResultsError unless it is a folder, and holds the file `needed`, which every finished run has."""
    if not os.path.lexists(folder):
        raise ResultsError(
            f"There is no folder {folder}. Give a results folder; `airbayes run quick` writes one, runs/quick."
        )
    if not os.path.isdir(folder):
        inside = os.path.isfile(folder.parent / "config.toml")
        fix = f"Give its folder, {folder.parent}." if inside else "`airbayes run` writes results folders."
        raise ResultsError(f"{folder} is a file, no results folder. {fix}")
    try:
        found = os.listdir(folder)
    except OSError as error:
        raise ResultsError(f"Cannot read the folder {folder}: {error.strerror or error}.") from None
    if not found:
        raise ResultsError(f"{folder} is no results folder: it is empty. `airbayes run` writes one.")
    if not needed or os.path.isfile(folder / needed):
        return
    if PROGRESS in found:
        raise ResultsError(
            f"{folder} holds a run that is not finished: it has no {needed}. The `airbayes run` command that began it, "
            "given again, goes on."
        )
    raise ResultsError(f"{folder} is no results folder: it has no {needed}. `airbayes run` writes one.")


def check_writable(folder: Path, fix: str = "Choose another folder with --out.") -> None:
    """Raise ResultsError unless files can be written into a folder, once it is made. Nothing is left behind."""
    there = folder.absolute()
    while not os.path.lexists(there):
        there = there.parent
    try:
        if not os.path.isdir(there):
            named = "it" if there == folder.absolute() else there
            raise NotADirectoryError(errno.ENOTDIR, f"{named} is a file")
        with tempfile.NamedTemporaryFile(dir=there, prefix=".writable-"):
            pass
    except OSError as error:
        raise ResultsError(f"Cannot write to {folder}: {error.strerror or error}. {fix}") from error


def make_folder(folder: Path) -> None:
    """Make a folder for results, with those above it."""
    check_writable(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # a name that is too long, say
        raise ResultsError(
            f"Cannot write to {folder}: {error.strerror or error}. Choose another folder with --out."
        ) from error
