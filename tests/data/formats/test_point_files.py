"""Single clouds: every kind of file, known kinds of trouble, and promises that must not be believed."""

import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from data.formats.writers import compress_lzf, pcd_bytes, ply_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.data.formats.common import Collector, LoadOptions, read_bytes
from airbayes.data.formats.pcd import decompress_lzf, parse_pcd
from airbayes.data.formats.ply import parse_ply
from airbayes.data.formats.point_files import read_cloud
from airbayes.data.formats.text_table import parse_text
from airbayes.errors import DataError

POINTS = np.random.default_rng(0).normal(size=(50, 3)) * 3
LIGHT = np.linspace(0, 1, 50)
HERE = Path("cloud")


def collector(skip_bad: bool = False) -> Collector:
    return Collector(LoadOptions({}, skip_bad=skip_bad))


@pytest.mark.parametrize("encoding", ["ascii", "binary", "binary_compressed"])
def test_pcd(encoding):
    table = parse_pcd(pcd_bytes(POINTS, LIGHT, encoding), HERE)
    np.testing.assert_allclose(table, np.column_stack([POINTS, LIGHT]), rtol=1e-6)


@pytest.mark.parametrize("encoding", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply(encoding):
    table = parse_ply(ply_bytes(POINTS, LIGHT, encoding), HERE)
    np.testing.assert_allclose(table, np.column_stack([POINTS, LIGHT]), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1 2 3\n4 5 6\n", None),
        ("# remark\n\n1,2,3,0.5\n4,5,6,0.7\n", None),
        ('"Z";"Y";"X"\n3;2;1\n6;5;4\n', None),
        ("x y z intensity\n1 2 3 9\n4 5 6 200\n", None),
        ("x,y,z\r1,2,3\r4,5,6\r", None),
        ("x,y,z\n1,2,3,\n4,5,6,,\n", None),
        ('x,y,z,note\n1,2,3,"a, b"\n4,5,6,\n', None),
        ("x\ty\tz\tclass\n1\t2\t3\ta traffic cone\n4\t5\t6\ta car\n", None),
        ("\ufeffx,y,z\n1,2,3\n4,5,6\n", None),
        ("\ufeff1 2 3\n4 5 6\n", None),
        ("1,0;2,0;3\n4;5,0;6,0\n", None),
        ("x;y;z\n1,0;2;3\n4;5;6\n", None),
        ("# t x y z\n7 1 2 3\n8 4 5 6\n", None),
        ("#t,z,y,x\n\n7;3;2;1\n8;6;5;4\n", None),
        ("// made of x y z\n1 2 3 7\n4 5 6 8\n", None),
        ("# fields: x y z\n1 2 3 7\n4 5 6 8\n", None),
        ("1,2,3\n\n4,5,6\n\n\n", None),
        ("1,2,3 # one; the first\n4,5,6 // two\n", None),
        ("1 2 3 # one\n4 5 6\n", None),
        ("x,y,z # metres\n1,2,3\n4,5,6\n", None),
        ("1,0 2,0 3,0\n", 1),
        ("1 2 3\n4 five 6\n", 2),
        ("1 2 3\n\n4 five 6\n", 3),
        ("1 2 3\n4 5\n", 2),
        ("1,2,3\n   \n", 2),
        ("x,y,z\n1,2,3\n\n# remark\n4,5\n", 5),
        ("x,y,z\n1,0,2,0,3,0\n4,0,5,0,6,0\n", 2),
        ("x y z\n1 1 2 3\n2 4 5 6\n", 2),
        ("// remark\n1 2\n", 2),
        ("name,x,y\na,1,2\n", 1),
    ],
)
@pytest.mark.filterwarnings("error")  # a blank line is none
def test_text(text, line):
    if line is None:
        np.testing.assert_array_equal(parse_text(text.encode(), HERE)[:, :3], [[1, 2, 3], [4, 5, 6]])
    else:
        with pytest.raises(DataError, match=rf"cloud, line {line}:"):
            parse_text(text.encode(), HERE)


@pytest.mark.parametrize("kind", ["utf-16-le", "utf-16-be"])
def test_the_unicode_text_of_spreadsheets(kind):
    raw = "\ufeffx\ty\tz\r\n1\t2\t3\r\n4\t5\t6\r\n".encode(kind)
    np.testing.assert_array_equal(parse_text(raw, HERE), [[1, 2, 3], [4, 5, 6]])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000) | st.text("ab", max_size=3000).map(str.encode))
def test_lzf_gives_back_what_was_packed(data):
    assert decompress_lzf(compress_lzf(data), len(data), "here") == data


def test_lzf_copies_from_far_back():
    block = np.random.default_rng(0).integers(0, 256, 8000, np.uint8).tobytes()
    packed = compress_lzf(block * 2)
    assert len(packed) < 1.1 * len(block)
    assert decompress_lzf(packed, 16000, "here") == block * 2


def test_lzf_copies_that_overlap_themselves():
    # One literal, then a copy of 264 bytes from one byte back: the byte repeated.
    assert decompress_lzf(bytes([0, 65, 0b11100000, 255, 0]), 265, "here") == b"A" * 265


@pytest.mark.parametrize(
    ("packed", "size", "message"),
    [
        (bytes([32, 0]), 3, "1 bytes before their beginning"),
        (bytes([0]), 1, "unpack to 0 bytes, not 1"),
        (bytes([0, 65, 0b11100000]), 265, "end in the middle of a copy"),
        (bytes([0, 65, 0b11100000, 255, 0]), 10, "not 10"),
    ],
)
def test_lzf_refuses_nonsense(packed, size, message):
    with pytest.raises(DataError, match=message):
        decompress_lzf(packed, size, "here")


def pcd_header(points: int, encoding: str) -> bytes:
    return (
        f"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {points}\nHEIGHT 1\nPOINTS {points}\n"
        f"DATA {encoding}\n"
    ).encode()


PROMISES = {
    "binary.pcd": pcd_header(900_000_000, "binary") + bytes(800),
    "nearly.pcd": pcd_header(9_000_000, "binary") + bytes(800),
    "ascii.pcd": pcd_header(9_000_000, "ascii") + b"1 2 3\n" * 100,
    "packed.pcd": pcd_header(9_000_000, "binary_compressed") + struct.pack("<II", 100, 108_000_000) + bytes(100),
    "binary.ply": ply_bytes(POINTS, LIGHT).replace(b"vertex 50", b"vertex 9000000"),
    "ascii.ply": ply_bytes(POINTS, LIGHT, "ascii").replace(b"vertex 50", b"vertex 9000000"),
    "array.npy": b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 3), }".ljust(117)
    + b"\n",
}


@pytest.mark.parametrize("name", PROMISES)
def test_small_files_cannot_promise_much(name, tmp_path):
    (tmp_path / name).write_bytes(PROMISES[name])
    tracemalloc.start()
    with pytest.raises(DataError, match=r"promise|cannot hold|follow|a table of numbers"):
        read_cloud(tmp_path / name, collector())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_sizes_that_are_no_multiple_of_the_record_name_the_offset(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(16 * 3 + 5))
    with pytest.raises(DataError, match=r"a\.bin, byte 48: 5 bytes left over; a point has 16"):
        read_cloud(path, collector())


def test_a_bin_of_three_columns_is_not_read_as_four(tmp_path):
    """40 points of x, y, z have the bytes of 30 with an intensity; 41 leave some over."""
    for count, says in (
        (40, r"a\.bin: the intensity of point \d+ is -.*\.npy \[points, 3\]"),
        (41, "12 bytes left over"),
    ):
        np.resize(POINTS, (count, 3)).astype("<f4").tofile(tmp_path / "a.bin")
        with pytest.raises(DataError, match=says) as told:
            read_cloud(tmp_path / "a.bin", collector())
        assert ".npy [points, 3]" in str(told.value)


def test_an_array_on_its_side_is_not_read_as_three_points(tmp_path):
    for rows in (3, 4):
        np.save(tmp_path / "a.npy", np.column_stack([POINTS, LIGHT]).T[:rows])
        with pytest.raises(DataError, match=rf"{rows} points of 50 columns.*array\.T"):
            read_cloud(tmp_path / "a.npy", collector())
    np.save(tmp_path / "a.npy", np.column_stack([POINTS, LIGHT, LIGHT + 7])[:3])  # a ring number after the intensity
    np.testing.assert_array_equal(read_cloud(tmp_path / "a.npy", collector())[0], POINTS[:3])


def test_several_arrays_without_a_name_are_told_by_name(tmp_path):
    np.savez(tmp_path / "a.npz", xyz=POINTS, colours=POINTS)
    with pytest.raises(DataError, match=r"no array 'points' among its 2 \(xyz, colours\).*points=\.\.\."):
        read_cloud(tmp_path / "a.npz", collector())


def test_an_object_set_is_not_read_as_one_object(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.zeros((30, 3), np.float32), offsets=np.array([0, 10, 30]))
    with pytest.raises(DataError, match=r"a\.npz: an object set .* Write each object into a file of its own"):
        read_cloud(tmp_path / "a.npz", collector())


def test_an_array_of_several_objects_says_where_they_belong(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((20, 50, 3)))
    with pytest.raises(DataError, match=r"\(20, 50, 3\); need one object.*airbayes\.data\.from_clouds"):
        read_cloud(tmp_path / "a.npy", collector())


def test_empty_files_have_no_points(tmp_path):
    for name in ("a.bin", "a.txt", "a.xyz"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(DataError, match="no points"):
            read_cloud(tmp_path / name, collector())
    (tmp_path / "a.pcd").write_bytes(pcd_bytes(POINTS[:0], LIGHT[:0]))
    with pytest.raises(DataError, match="no points"):
        read_cloud(tmp_path / "a.pcd", collector())


def test_bad_coordinates_are_refused_or_dropped_and_counted(tmp_path):
    points = POINTS.copy()
    points[7, 1], points[9, 2], points[11, 0] = np.nan, np.inf, 1e30
    np.save(tmp_path / "a.npy", points)
    with pytest.raises(DataError, match=r"point 7 is at .*nan.*Points like that: 3 of 50"):
        read_cloud(tmp_path / "a.npy", collector())
    lenient = collector(skip_bad=True)
    cloud, light = read_cloud(tmp_path / "a.npy", lenient)
    np.testing.assert_array_equal(cloud, POINTS[[i for i in range(50) if i not in (7, 9, 11)]])
    assert len(light) == 47
    assert lenient.skipped == {"points with bad coordinates": 3}


@pytest.mark.parametrize(("largest", "scale"), [(0.9, 1), (200, 255), (60000, 65535)])
def test_intensity_scales_are_guessed_from_the_largest(largest, scale, tmp_path):
    np.save(tmp_path / "a.npy", np.column_stack([POINTS, LIGHT * largest]))
    np.testing.assert_allclose(read_cloud(tmp_path / "a.npy", collector())[1], LIGHT * largest / scale)


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"x": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="could run code"):
        read_cloud(tmp_path / "a.npy", collector())


def test_pipes_folders_and_large_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.bin")
    with pytest.raises(DataError, match="not a file"):
        read_cloud(tmp_path / "pipe.bin", collector())
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(DataError, match="not a file"):
        read_cloud(tmp_path / "pipe.npz", collector())
    with pytest.raises(DataError, match="not a file"):
        read_bytes(tmp_path)
    with open(tmp_path / "sparse.bin", "wb") as stream:
        stream.truncate(10 << 30)
    with pytest.raises(DataError, match="the limit is 268,435,456"):
        read_cloud(tmp_path / "sparse.bin", collector())
