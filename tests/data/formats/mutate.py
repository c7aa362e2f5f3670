"""Damage files of one format again and again and load them: `python mutate.py FORMAT COUNT SEED FOLDER`.

Run by test_mutations.py in a process of its own, with little memory and a watchdog. Every load must give objects or
DataError. Prints how many of each; anything else is reported with the seed of its case, and ends with status 1.
"""

import faulthandler
import random
import re
import resource
import shutil
import struct
import sys
import traceback
import warnings
import zipfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from data.formats import writers

from airbayes.data.formats import load
from airbayes.errors import DataError

ADDRESS_SPACE = 4 << 30  # bytes; a 10 GB promise must not be believed
SECONDS = 20  # for one load: a hang, not a slow machine
NUMBERS = [b"nan", b"-1", b"0", b"99999999999999999999", b"1e400", b"-inf", b"", b"x", b"1e38", b"2147483648", b"\xff"]
VALUES = [
    *(struct.pack("<i", n) for n in (0, -1, 1, 2**31 - 1, -(2**31), 1 << 24)),
    *(struct.pack("<q", n) for n in (-1, 2**63 - 1, 10**10, 1 << 40)),
    *(struct.pack("<f", x) for x in (float("nan"), float("inf"), -1e38, 1e-40)),
    *(struct.pack("<H", n) for n in (0, 1, 0xFFFF)),
]
WORDS = [b"null", b"[]", b"{}", b"true", b'"\\ud800"', b"1e999", b"-1", b'"../../x"', b'"\\u0000"', b"[" * 3000]


def flip(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def overwrite(rng: random.Random, data: bytes) -> bytes:
    value = rng.choice(VALUES)
    # Headers and tables of contents are at the ends: look there more often.
    end = max(len(data) - rng.randrange(1, 256), 0)
    place = rng.choice((rng.randrange(len(data)), rng.randrange(min(len(data), 256)), end))
    return data[:place] + value + data[place + len(value) :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def delete(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice((1, 4, 16, 100)) :]


def duplicate(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    piece = data[start : start + rng.choice((1, 8, 64, 1000))]
    return data[:start] + piece * rng.choice((1, 2, 50)) + data[start:]


def insert(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + rng.randbytes(rng.choice((1, 3, 40))) + data[start:]


def replace_number(rng: random.Random, data: bytes) -> bytes:
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e[-+]?\d+)?", data))
    if not found:
        return overwrite(rng, data)
    place = rng.choice(found[:20] if rng.random() < 0.5 else found)
    return data[: place.start()] + rng.choice(NUMBERS) + data[place.end() :]


def replace_word(rng: random.Random, data: bytes) -> bytes:
    found = list(re.finditer(rb'"[^"]*"|\w+|\[[^\[\]]*\]', data[:20000]))
    if not found:
        return insert(rng, data)
    place = rng.choice(found)
    return data[: place.start()] + rng.choice(WORDS + NUMBERS) + data[place.end() :]


def swap_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines[: rng.choice((len(lines), a + 1))])


MUTATIONS = [flip, overwrite, truncate, delete, duplicate, insert, replace_number, replace_word, swap_lines]


def mutate(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(MUTATIONS)(rng, data) if data else rng.randbytes(rng.randrange(1, 50))
    return data


def damage(rng: random.Random, files: dict[Path, bytes]) -> Path:
    """Change one file on disk and say which."""
    path = rng.choice(list(files))
    kind = rng.random()
    if kind < 0.01:
        path.unlink()
    elif kind < 0.02:
        path.write_bytes(b"")
    elif kind < 0.03:
        path.unlink()
        path.mkdir()
    elif kind < 0.06:
        path.write_bytes(files[rng.choice(list(files))])
    elif path.suffix == ".npz" and kind < 0.8:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(members))
        members[name] = mutate(rng, members[name])
        writers.repack(path, members)
    else:
        path.write_bytes(mutate(rng, files[path]))
    return path


def restore(path: Path, data: bytes) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.write_bytes(data)


def run(name: str, count: int, seed: int, root: Path) -> Counter:
    """`count` damaged loads of the format's example."""
    target = getattr(writers, f"write_{name}")(root)
    target = target if isinstance(target, Path) else root
    files = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    load(target, name)
    if name == "class_folder":  # one file is enough, and quicker to read
        files = {root / "alone" / path.name / "car" / path.name: data for path, data in files.items()}
        for path, data in files.items():
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
    outcome: Counter = Counter()
    for case in range(count):
        rng = random.Random(f"{name}-{seed}-{case}")
        path = damage(rng, files)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            place = path.parents[1] if name == "class_folder" else target
            load(place, name, skip_bad=rng.random() < 0.5, min_points=rng.choice((1, 10)))
            outcome["objects"] += 1
        except DataError as error:
            outcome["DataError"] += 1
            if not str(error).isprintable():
                outcome["unprintable"] += 1
                sys.stderr.write(f"{name}, seed {seed}, case {case}: {error!r}\n")
        except BaseException:
            outcome["wrong"] += 1
            if outcome["wrong"] <= 3:
                sys.stderr.write(f"{name}, seed {seed}, case {case}, {path.name}:\n{traceback.format_exc()}\n")
        faulthandler.cancel_dump_traceback_later()
        restore(path, files[path])
    return outcome


def peak_megabytes() -> int:
    """Of this program alone: ru_maxrss also remembers the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    warnings.simplefilter("error")
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    result = run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    peak = peak_megabytes()
    sys.stdout.write(f"{result['objects']} {result['DataError']} {peak}\n")
    sys.exit(1 if result["wrong"] or result["unprintable"] else 0)
