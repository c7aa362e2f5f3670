"""Object sets in memory and on disk: what goes in comes out, and nonsense is refused by name."""

import dataclasses
import io
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.data import ObjectSet, concatenate, from_clouds, load_objects, save_objects
from airbayes.data.metres import load_for_network, too_large
from airbayes.errors import DataError


def make(counts=(3, 1, 5), seed: int = 0, **known) -> ObjectSet:
    rng = np.random.default_rng(seed)
    clouds = [rng.normal(size=(count, 3)).astype(np.float32) for count in counts]
    return from_clouds(clouds, np.arange(len(counts)) % 2, ("car", "Fußgänger"), **known)


def same(a: ObjectSet, b: ObjectSet) -> None:
    for field in dataclasses.fields(ObjectSet):
        np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))


def pack(path, **changes) -> None:
    """The arrays of a small set, some of them replaced (None: left out; bytes: as they are)."""
    objects = make()
    fields = {field.name: np.asarray(getattr(objects, field.name)) for field in dataclasses.fields(objects)} | changes
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in fields.items():
            if value is None:
                continue
            if not isinstance(value, bytes):
                stream = io.BytesIO()
                np.save(stream, value)
                value = stream.getvalue()
            archive.writestr(f"{name}.npy", value)


@settings(max_examples=25, deadline=None)
@given(counts=st.lists(st.integers(1, 20), min_size=1, max_size=8), seed=st.integers(0, 1000), data=st.data())
def test_select_takes_the_points_of_its_rows(counts, seed, data):
    objects = make(counts, seed)
    rows = np.array(data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=10)), int)
    chosen = objects.select(rows)
    assert len(chosen) == len(rows)
    for new, old in enumerate(rows.tolist()):
        np.testing.assert_array_equal(chosen.cloud(new), objects.cloud(old))
        assert chosen.instance[new] == objects.instance[old]


def test_select_by_mask_and_by_nothing():
    objects = make()
    np.testing.assert_array_equal(objects.select(np.array([True, False, True])).counts, [3, 5])
    assert len(objects.select(np.array([]))) == 0
    assert len(objects.select(np.zeros(3, bool))) == 0


def test_with_classes_keeps_and_reorders():
    objects = make().with_classes(("Fußgänger",))
    assert objects.class_names == ("Fußgänger",)
    assert objects.counts.tolist() == [1]
    assert objects.label.tolist() == [0]
    with pytest.raises(DataError, match="No class 'bus' in this set; it has car"):
        make().with_classes(("bus",))


def test_concatenate():
    both = concatenate([make(), make((2,), 1)])
    assert both.counts.tolist() == [3, 1, 5, 2]
    np.testing.assert_array_equal(both.cloud(3), make((2,), 1).cloud(0))
    with pytest.raises(DataError, match="different classes"):
        concatenate([make(), make().with_classes(("car",))])


def test_groups_tell_sources_scenes_and_instances_apart():
    one = make(instance=["1", "1", "2"], scene=["a", "b", "a"], source="x")
    assert len(set(one.groups)) == 3
    assert len(set(make(instance=["1", "1", "2"], scene=["a", "a", "a"]).groups)) == 2
    other = make(instance=["1", "1", "2"], scene=["a", "b", "a"], source="y")
    assert len(set(concatenate([one, other]).groups)) == 6
    assert len(make().select(np.array([])).groups) == 0


@pytest.mark.parametrize("count", [0, 1, 4])
def test_files_give_back_the_set(count, tmp_path):
    objects = make((3,) * count, scene=[f"s{i}" for i in range(count)], range_m=np.arange(count), source="test")
    save_objects(tmp_path / "a.npz", objects)
    same(load_objects(tmp_path / "a.npz"), objects)


def test_only_four_arrays_are_needed(tmp_path):
    optional = ("intensity", "instance", "scene", "frame", "range_m", "box", "source", "source_class")
    pack(tmp_path / "a.npz", **dict.fromkeys(optional))
    objects = load_objects(tmp_path / "a.npz")
    assert len(set(objects.groups)) == 3
    assert np.isnan(objects.range_m).all()
    assert objects.source_class.tolist() == [objects.class_names[label] for label in objects.label]


def test_extents_are_those_of_the_longest_axis():
    clouds = [np.array([[0, 0, 0], [1, -2, 0.5]]), np.array([[5.0, 5, 5]]), np.array([[-3e38, 0, 0], [3e38, 0, 0]])]
    objects = from_clouds(clouds, np.zeros(3), ("a",))
    assert objects.extents.tolist() == pytest.approx([2, 0, 6e38])
    assert objects.select(np.zeros(3, bool)).extents.shape == (0,)


def test_what_is_not_in_metres_is_refused_or_remarked_on(tmp_path):
    clouds = [np.array([[0, 0, 0], [size, 1, 1.0]]) for size in (4, 4000, 31, 5000)]
    objects = from_clouds(clouds, np.zeros(4), ("a",))
    save_objects(tmp_path / "a.npz", objects)
    with pytest.raises(DataError, match=r"a\.npz, object 1: 4,000 m across; .* at most 1000\. Is it in other units\?"):
        load_for_network(tmp_path / "a.npz")
    large, huge = too_large(objects)
    assert "1 object more than 30 m across, the first 2." in large
    assert "2 objects more than 1,000 m across, the first 1." in huge
    near = objects.select(np.array([0]))
    save_objects(tmp_path / "b.npz", near)
    same(load_for_network(tmp_path / "b.npz"), near)
    assert too_large(near) == []


def npy(header: str, body: bytes = b"") -> bytes:
    text = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + body


TROUBLE = {
    "missing": ({"label": None}, "no array 'label'; an object set needs points, offsets, label, class_names"),
    "single number": ({"label": np.int16(3)}, "label is a single number"),
    "single point": ({"points": np.float32(3)}, "points is a single number"),
    "flat points": ({"points": np.zeros(9, np.float32)}, r"points has shape \(9,\)"),
    "words for numbers": ({"label": np.array(["a", "b", "c"])}, "label holds <U1; need numbers"),
    "numbers for words": ({"scene": np.zeros(3)}, "scene holds float64; need text"),
    "nan": ({"points": np.full((9, 3), np.nan, np.float32)}, "Point 0 is not finite"),
    "label too large": ({"label": np.array([0, 1, 2])}, "Label 2 is outside the 2 classes"),
    "label that does not fit": ({"label": np.array([0, 1, 70000])}, "numbers that do not fit int16"),
    "empty object": ({"offsets": np.array([0, 3, 3, 9])}, "Object 1 has no points"),
    "offsets backwards": ({"offsets": np.array([0, 8, 4, 9])}, "Object 1 has no points"),
    "offsets beyond": ({"offsets": np.array([0, 3, 4, 10])}, "offsets run from 0 to 10; need 0 to 9"),
    "offsets that wrap": (
        {
            "label": np.array([0, 0, 0, 0]),
            "offsets": np.array([0, 2**63 - 1, -(2**63), -1, 9]),
            **dict.fromkeys(("instance", "scene", "frame", "range_m", "box", "source", "source_class")),
        },
        "offsets run from",
    ),
    "pickles": ({"scene": np.array([{}, {}, {}], dtype=object)}, "could run code"),
    "no characters": ({"scene": np.array([0xFFFFFFFF, 1, 2], "<u4").view("<U1")}, "no Unicode text"),
    "half characters": ({"scene": np.array([0xD800, 1, 2], "<u4").view("<U1")}, "no Unicode text"),
    "promise": (
        {"points": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 3), }")},
        "header promises float32",
    ),
    "entries of no size": (
        {"points": npy("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000, 3), }")},
        "of no size",
    ),
    "impossible shape": (
        {"points": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999999999999), }")},
        "no array can be",
    ),
    "no header": ({"points": b"hello"}, "not an .npy array"),
    "unclosed header": ({"points": npy("{'descr': '<f4', (")}, "not an .npy array"),
}


@pytest.mark.parametrize("kind", TROUBLE)
def test_trouble_is_named(kind, tmp_path):
    changes, message = TROUBLE[kind]
    pack(tmp_path / "a.npz", **changes)
    with pytest.raises(DataError, match=message) as caught:
        load_objects(tmp_path / "a.npz")
    assert "a.npz" in str(caught.value)
    assert str(caught.value).isprintable()


def test_archives_that_are_none(tmp_path):
    path = tmp_path / "a.npz"
    with pytest.raises(DataError, match="cannot be read"):
        load_objects(path)
    path.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(DataError, match=r"not a sound \.npz archive"):
        load_objects(path)
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(DataError, match="not a file"):
        load_objects(tmp_path / "pipe.npz")


def test_a_small_archive_may_not_unpack_to_much(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, points=np.zeros((1_000_000, 3)))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(DataError, match=r"promises 24,\d+,\d+ bytes of arrays; the limit is 1,000,000"):
        load_objects(path, max_bytes=1_000_000)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_labels_outside_the_classes_are_refused_by_name():
    with pytest.raises(DataError, match="Label 5 is outside the 2 classes"):
        from_clouds([np.zeros((1, 3))], np.array([5]), ("a", "b"))
    with pytest.raises(DataError, match="Label -1 is outside"):
        from_clouds([np.zeros((1, 3))], np.array([-1]), ("a", "b"))


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([0.7], "Label 0.7 is no whole number; need an index into class_names"),
        ([float("nan")], "Label nan is no whole number"),
        (["b"], "Label b is no whole number"),
        ([0, 1], "2 labels for 1 clouds"),
    ],
)
def test_labels_that_are_no_indices_are_refused(label, message):
    with pytest.raises(DataError, match=message):
        from_clouds([np.zeros((1, 3))], np.array(label), ("a", "b"))


def test_a_cloud_of_another_shape_is_refused_by_number():
    with pytest.raises(DataError, match=r"Cloud 1 has shape \(3, 20\); need \[points, 3\]"):
        from_clouds([np.zeros((10, 3)), np.zeros((3, 20))], np.array([0, 1]), ("a", "b"))
