"""What every loader shares: reading within limits, errors that name the place, and the tally of what was left out."""

import contextlib
import dataclasses
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from airbayes.data.objects import ObjectSet, from_clouds
from airbayes.errors import DataError
from airbayes.text import printable

MAX_FILE_BYTES = 256 << 20  # of one file that is read whole; a sweep has 1 to 5 MB
MAX_CLOUD_POINTS = 10_000_000  # of one file; a sweep has 30,000 to 200,000
MAX_COORDINATE = 1e8  # metres; map coordinates (UTM) reach 1e7
MAX_TEXT = 256  # characters of a class, scene or instance name
MAX_MESSAGES = 5


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """What a loader saw."""

    format: str
    files: int  # point and label files read
    kept: int  # objects
    skipped: dict[str, int]  # reason → how many
    left_out: dict[str, int]  # source class without a place in the class mapping → objects
    annotated: tuple[int, int]  # objects whose point count equals the annotated one, objects that have one
    messages: tuple[str, ...]  # the first few errors behind `skipped`


@dataclasses.dataclass(frozen=True)
class LoadOptions:
    classes: Mapping[str, str]  # source class → class; the order of the classes is that of first mention
    min_points: int = 10  # objects with fewer are left out
    skip_bad: bool = False  # count malformed parts instead of stopping at the first
    max_objects: int | None = None  # stop after so many
    max_points: int = 100_000_000  # of all kept objects together: 1.4 GB


class EnoughObjects(Exception):
    """max_objects are there; the loader can stop."""


@dataclasses.dataclass
class Collector:
    """Takes objects from a loader, keeps those that qualify and counts the rest."""

    options: LoadOptions
    files: int = 0
    skipped: Counter = dataclasses.field(default_factory=Counter)
    left_out: Counter = dataclasses.field(default_factory=Counter)
    messages: list[str] = dataclasses.field(default_factory=list)
    seen: set[str] = dataclasses.field(default_factory=set)  # source classes, mapped or not
    rows: list[dict] = dataclasses.field(default_factory=list)
    total_points: int = 0
    annotated: list[int] = dataclasses.field(default_factory=lambda: [0, 0])

    @contextlib.contextmanager
    def guard(self, what: str) -> Iterator[None]:
        """Errors inside are counted as `what` with --skip-bad, and passed on otherwise."""
        try:
            yield
        except DataError as error:
            if not self.options.skip_bad:
                named = " --" in str(error)  # an option that helps, by who knows better or by a guard within this one
                raise error if named else DataError(f"{error} --skip-bad goes on without it.") from None
            self.skipped[what] += 1
            if len(self.messages) < MAX_MESSAGES:
                self.messages.append(str(error))

    def wants(self, source_class: str, where: str) -> bool:
        """Whether objects of this class are asked for; counts those that are not."""
        source_class = checked_text(source_class, where)
        self.seen.add(source_class)
        if source_class not in self.options.classes:
            self.left_out[source_class] += 1
            return False
        return True

    def add(
        self,
        cloud: np.ndarray,
        intensity: np.ndarray,
        source_class: str,
        *,
        centre: np.ndarray | None = None,
        instance: str,
        scene: str = "",
        frame: int = 0,
        range_m: float = np.nan,
        box: np.ndarray | None = None,
        annotated: int | None = None,
        where: str,
    ) -> None:
        """Keep an object of a class that is wanted. Points are stored relative to `centre`, or to their middle."""
        if annotated is not None:
            self.annotated[0] += annotated == len(cloud)
            self.annotated[1] += 1
        if len(cloud) < max(self.options.min_points, 1):
            self.skipped[f"fewer than {max(self.options.min_points, 1)} points"] += 1
            return
        if not 0 <= frame < 2**31:
            raise DataError(f"{where}: frame {frame} is not between 0 and 2³¹.")
        self.total_points += len(cloud)
        if self.total_points > self.options.max_points:
            limit = self.options.max_points
            raise DataError(f"{where}: more than {limit:,} points in all. Load fewer with --max-objects.")
        cloud = np.asarray(cloud, np.float64)
        middle = (cloud.min(axis=0) + cloud.max(axis=0)) / 2 if centre is None else centre
        self.rows.append(
            {
                "cloud": (cloud - middle).astype(np.float32),
                "intensity": unit_intensity(intensity),
                "source_class": checked_text(source_class, where),
                "instance": checked_text(instance, where),
                "scene": checked_text(scene, where),
                "frame": frame,
                "range_m": range_m,
                "box": np.full(7, np.nan) if box is None else box,
            }
        )
        if len(self.rows) == self.options.max_objects:
            raise EnoughObjects

    def to_objects(self, source: str) -> ObjectSet:
        """All kept objects as one set."""
        names = tuple(dict.fromkeys(self.options.classes.values()))
        column = {key: [row[key] for row in self.rows] for key in (self.rows[0] if self.rows else ())}
        if not column:
            return from_clouds([], np.zeros(0, np.int16), names, source=source)
        return from_clouds(
            column["cloud"],
            np.array([names.index(self.options.classes[name]) for name in column["source_class"]], np.int16),
            names,
            intensity=column["intensity"],
            source=source,
            **{key: column[key] for key in ("instance", "scene", "frame", "range_m", "box", "source_class")},
        )


def at(path: Path, *, byte: int | None = None, line: int | None = None) -> str:
    """Where in a file something is wrong."""
    place = f", byte {byte}" if byte is not None else f", line {line}" if line is not None else ""
    return f"{printable(str(path), 400)}{place}"


def checked_text(text: str, where: str) -> str:
    """A name from a file, or an error if it is too long or not proper text: it goes into fixed-width columns."""
    if len(text) > MAX_TEXT or not text.isprintable():
        raise DataError(f"{where}: {printable(text)!r} is no name of at most {MAX_TEXT} printable characters.")
    return text


def read_bytes(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """A whole file, its size checked first; no pipes or devices, which might never end."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{at(path)}: not a file.")
        if status.st_size > max_bytes:
            raise DataError(f"{at(path)}: {status.st_size:,} bytes; the limit is {max_bytes:,}.")
        with open(path, "rb") as stream:
            return stream.read(status.st_size)  # no more, even if it grows meanwhile
    except FileNotFoundError:
        raise DataError(f"{at(path)}: missing.") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise DataError(f"{at(path)}: cannot be read ({getattr(error, 'strerror', None) or error}).") from None


def read_lines(path: Path, max_bytes: int = MAX_FILE_BYTES) -> list[str]:
    """The lines of a small text file; a byte-order mark is passed over, bytes that are not UTF-8 are an error."""
    raw = read_bytes(path, max_bytes)
    try:
        return raw.decode("utf-8").removeprefix("\ufeff").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{at(path, byte=error.start)}: not UTF-8 text.") from None


def read_records(path: Path, dtype: np.dtype) -> np.ndarray:
    """A headerless file of records; its size must be a multiple of theirs."""
    raw = read_bytes(path)
    rest = len(raw) % dtype.itemsize
    if rest:
        offset = len(raw) - rest
        raise DataError(
            f"{at(path, byte=offset)}: {rest} bytes left over; a point has {dtype.itemsize}. Is it cut off, or has it "
            "other columns? docs/data.md lists them; x, y, z alone go into an .npy [points, 3]."
        )
    if not raw:
        raise DataError(f"{at(path)}: no points.")
    if len(raw) > MAX_CLOUD_POINTS * dtype.itemsize:
        raise DataError(f"{at(path)}: {len(raw) // dtype.itemsize:,} points; the limit is {MAX_CLOUD_POINTS:,}.")
    return np.frombuffer(raw, dtype)


def finite_rows(xyz: np.ndarray, where: str, collector: Collector) -> np.ndarray:
    """A mask of the points whose coordinates are sensible; others are an error, or counted with --skip-bad."""
    good = np.asarray((np.abs(xyz) <= MAX_COORDINATE).all(axis=1))
    bad = len(good) - int(np.count_nonzero(good))
    if bad:
        row = int(np.argmin(good))
        text = f"{where}: point {row} is at {xyz[row].tolist()}; coordinates must be finite, in metres."
        if not collector.options.skip_bad:
            raise DataError(f"{text} Points like that: {bad:,} of {len(good):,}; --skip-bad drops them.")
        collector.skipped["points with bad coordinates"] += bad
        if len(collector.messages) < MAX_MESSAGES:
            collector.messages.append(text)
    return good


def unit_intensity(values: np.ndarray) -> np.ndarray:
    """Reflectance in 0 to 1 as f16; what is no number becomes 0."""
    return np.clip(np.nan_to_num(np.asarray(values, np.float32), nan=0.0), 0.0, 1.0).astype(np.float16)


def parse_number(text: str, where: str) -> float:
    """A finite number, or an error that shows what stands there instead."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise DataError(f"{where}: {printable(text)!r} is not a number.")
    return value


def parse_count(text: str, where: str, limit: int = 2**31 - 1) -> int:
    """A whole number between -1 and `limit`."""
    value = int(text) if len(text) < 12 and text.lstrip("-").isascii() and text.lstrip("-").isdigit() else None
    if value is None or not -1 <= value <= limit:
        raise DataError(f"{where}: {printable(text)!r} is not a whole number up to {limit:,}.")
    return value


def folders(path: Path) -> list[Path]:
    """Folders inside `path`, by name; hidden ones are passed over."""
    return [entry for entry in _entries(path) if entry.is_dir()]


def files(path: Path, *suffixes: str) -> list[Path]:
    """What is not a folder inside `path`, by name, with one of the suffixes if any are given."""
    found = [entry for entry in _entries(path) if not entry.is_dir()]
    return [entry for entry in found if not suffixes or entry.name.lower().endswith(suffixes)]


def _entries(path: Path) -> list[Path]:
    try:
        return sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{at(path)}: cannot be listed ({error.strerror or error}).") from None
