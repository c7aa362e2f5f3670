"""Writers of every format, for the loaders to read: small, complete, and as the data sets' own documents say."""

import json
import struct
import zipfile
from pathlib import Path

import numpy as np
from data.formats.scenes import Thing, car, move, person, pose_of, sweep
from scipy.spatial.transform import Rotation

from airbayes.data import from_clouds, save_objects

TO_CAMERA = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])  # x right, y down, z forward
KITTI_NAMES = {"car": "Car", "pedestrian": "Pedestrian"}


def write_object_set(root: Path) -> Path:
    things = [car(), person(), car(yaw=2.0, seed=5, instance=8)]
    path = root / "objects.npz"
    objects = from_clouds(
        [thing.points - thing.centre for thing in things],
        np.array([0, 1, 0]),
        ("car", "pedestrian"),
        instance=[str(thing.instance) for thing in things],
        scene=["a", "a", "b"],
        frame=[1, 1, 2],
        range_m=[float(np.linalg.norm(thing.centre)) for thing in things],
        box=[[*thing.centre, *thing.size, thing.yaw] for thing in things],
        source="test",
    )
    save_objects(path, objects)
    return path


def repack(path: Path, members: dict[str, bytes]) -> None:
    """An archive whose checksums are right whatever the members hold."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)


def kitti_calibration(colon: bool) -> tuple[str, np.ndarray]:
    """The file's text and the [4, 4] from velodyne to the rectified camera, both sensors a little askew."""
    rectify = pose_of(Rotation.from_euler("xyz", [0.008, -0.01, 0.007]), [0, 0, 0])
    tilt = Rotation.from_euler("xyz", [0.01, 0.014, -0.008]).as_matrix()
    mount = np.eye(4)
    mount[:3] = np.column_stack([TO_CAMERA @ tilt, [0.004, -0.076, -0.272]])
    projection = " ".join(["7.2e+02"] * 12)
    end = ":" if colon else ""
    names = ("R0_rect", "Tr_velo_to_cam", "Tr_imu_to_velo") if colon else ("R_rect", "Tr_velo_cam", "Tr_imu_velo")
    lines = [f"P{i}: {projection}" for i in range(4)]
    matrices = (rectify[:3, :3], mount[:3], mount[:3])
    for name, matrix in zip(names, matrices, strict=True):
        lines.append(f"{name}{end} " + " ".join(f"{value:.12e}" for value in matrix.ravel()))
    return "\n".join(lines) + "\n", rectify @ mount


def kitti_thing(thing: Thing, to_camera: np.ndarray) -> tuple[str, Thing]:
    """The label's 15 columns, and the thing as KITTI has it: upright in the camera's frame."""
    length, width, height = thing.size
    x, y, z = move(to_camera, thing.centre[None])[0]
    heading = to_camera[:3, :3] @ thing.pose[:3, 0]
    ry = float(np.arctan2(-heading[2], heading[0]))
    # The devkit's object frame: x forward, y down, z left, from the middle of the bottom; turned by ry about y.
    turn = np.array([[np.cos(ry), 0, np.sin(ry)], [0, 1, 0], [-np.sin(ry), 0, np.cos(ry)]])
    bottom = np.array([x, y + height / 2, z])
    own = np.eye(4)
    own[:3, :3] = turn @ np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    own[:3, 3] = bottom - [0, height / 2, 0]
    values = [height, width, length, *bottom, ry]
    text = f"{KITTI_NAMES[thing.kind]} 0.00 0 -1.57 1 2 3 4 " + " ".join(f"{value:.9f}" for value in values)
    placed = Thing(thing.kind, thing.local, thing.size, np.linalg.inv(to_camera) @ own, thing.instance)
    return text, placed


def write_bin(path: Path, *columns: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.column_stack(columns).astype("<f4").tofile(path)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_kitti_object(root: Path) -> list[Thing]:
    calibration, to_camera = kitti_calibration(colon=True)
    things = []
    for frame, pair in enumerate([[car(), person()], [car(yaw=-2.5, seed=5)]]):
        labels, placed = zip(*(kitti_thing(thing, to_camera) for thing in pair), strict=True)
        dont_care = "DontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10"
        write_text(root / f"training/label_2/{frame:06d}.txt", "\n".join([*labels, dont_care]) + "\n")
        write_text(root / f"training/calib/{frame:06d}.txt", calibration)
        points, light, _ = sweep(list(placed))
        write_bin(root / f"training/velodyne/{frame:06d}.bin", points, light)
        things += placed
    return things


def write_kitti_tracking(root: Path) -> list[Thing]:
    calibration, to_camera = kitti_calibration(colon=False)
    write_text(root / "training/calib/0003.txt", calibration)
    things, labels = [], []
    for frame in (0, 1):
        placed = []
        for thing in (car(yaw=0.7 + frame, seed=frame), person()):
            text, own = kitti_thing(thing, to_camera)
            labels.append(f"{frame} {thing.instance} {text}")
            placed.append(own)
        labels.append(f"{frame} -1 DontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10")
        points, light, _ = sweep(placed)
        write_bin(root / f"training/velodyne/0003/{frame:06d}.bin", points, light)
        things += placed
    write_text(root / "training/label_02/0003.txt", "\n".join(labels) + "\n")
    return things


def write_semantic_kitti(root: Path) -> list[Thing]:
    things = []
    for frame, car_code in enumerate((10, 252)):  # parked, then moving: the same car
        pair = [car(yaw=0.3 + frame, seed=frame), person()]
        points, light, owner = sweep(pair)
        codes = np.array([car_code | (7 << 16), 30 | (9 << 16), 40])  # clutter is road, without an instance
        folder = root / "sequences/08"
        write_bin(folder / f"velodyne/{frame:06d}.bin", points, light)
        (folder / "labels").mkdir(parents=True, exist_ok=True)
        codes[owner].astype("<u4").tofile(folder / f"labels/{frame:06d}.label")
        things += pair
    return things


SYDNEY = np.dtype("i8,u1,u1,f4,f4,f4,f4,f4,i4")


def write_sydney(root: Path) -> list[Thing]:
    things = [car(), person(), car(seed=4, instance=8)]
    for thing, scan, suffix in zip(things, (100, 200, 300), ("bin", "bin", "csv"), strict=True):
        points = thing.points * [1, -1, -1]  # x forward, y right, z down
        rows = [
            (10**15 + i, i % 256, 3, *point, 0.1, np.linalg.norm(thing.centre), i) for i, point in enumerate(points)
        ]
        path = root / f"objects/{thing.kind}.{thing.instance}.{scan}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if suffix == "bin":
            np.array(rows, SYDNEY).tofile(path)
        else:
            path.write_text("".join(",".join(repr(float(value)) for value in row) + "\n" for row in rows))
    write_text(root / "folds/fold0.txt", "car.7.100.bin\n")
    write_text(root / "folds/fold1.txt", "pedestrian.9.200.bin\ncar.8.300.bin\n")
    return things


def wxyz(rotation: Rotation) -> list[float]:
    x, y, z, w = rotation.as_quat()
    return [float(w), float(x), float(y), float(z)]


def write_nuscenes(root: Path) -> list[Thing]:
    """One scene of two samples; boxes upright in the world, the vehicle and the lidar askew."""
    mount, mount_shift = Rotation.from_euler("zyx", [-1.57, 0.02, -0.01]), [0.94, 0.0, 1.84]
    tables: dict[str, list[dict]] = {
        "attribute": [],
        "log": [],
        "map": [],
        "visibility": [],
        "scene": [{"token": "scene", "name": "scene-0001"}],
        "sensor": [{"token": "lidar", "channel": "LIDAR_TOP"}, {"token": "cam", "channel": "CAM_FRONT"}],
        "calibrated_sensor": [
            {"token": "mount", "sensor_token": "lidar", "translation": mount_shift, "rotation": wxyz(mount)},
            {"token": "eye", "sensor_token": "cam", "translation": [1, 0, 1.5], "rotation": [0.5, -0.5, 0.5, -0.5]},
        ],
        "category": [{"token": "c", "name": "vehicle.car"}, {"token": "p", "name": "human.pedestrian.adult"}],
        "instance": [{"token": "7", "category_token": "c"}, {"token": "9", "category_token": "p"}],
        "sample": [],
        "sample_data": [],
        "ego_pose": [],
        "sample_annotation": [],
    }
    things = []
    for frame in (0, 1):
        ego = Rotation.from_euler("zyx", [1.2 + frame, 0.03, 0.02])
        ego_shift = [601.0 + 10 * frame, 1647.0, 1.5]
        to_world = pose_of(ego, ego_shift) @ pose_of(mount, mount_shift)
        placed = []
        for thing in (car(seed=frame), person()):
            box = Rotation.from_euler("z", thing.yaw + 0.4 * frame)
            centre = move(to_world, thing.centre[None])[0]
            pose = np.linalg.inv(to_world) @ pose_of(box, centre)
            placed.append(Thing(thing.kind, thing.local, thing.size, pose, thing.instance))
            length, width, height = thing.size.tolist()
            tables["sample_annotation"].append(
                {
                    "token": f"{thing.kind}{frame}",
                    "sample_token": f"sample{frame}",
                    "instance_token": str(thing.instance),
                    "translation": centre.tolist(),
                    "size": [width, length, height],
                    "rotation": wxyz(box),
                    "num_lidar_pts": len(thing.local),
                }
            )
        time = 1532402927000000 + 500000 * frame
        tables["sample"].append({"token": f"sample{frame}", "timestamp": time, "scene_token": "scene"})
        tables["ego_pose"].append({"token": f"ego{frame}", "translation": ego_shift, "rotation": wxyz(ego)})
        for sensor, key, name in (("mount", True, "samples/LIDAR_TOP"), ("mount", False, "sweeps/LIDAR_TOP")):
            tables["sample_data"].append(
                {
                    "token": f"{sensor}{frame}{key}",
                    "sample_token": f"sample{frame}",
                    "ego_pose_token": f"ego{frame}",
                    "calibrated_sensor_token": sensor,
                    "filename": f"{name}/{frame}.pcd.bin",
                    "is_key_frame": key,
                    "timestamp": time,
                }
            )
        points, light, _ = sweep(placed)
        write_bin(root / f"samples/LIDAR_TOP/{frame}.pcd.bin", points, light * 255, np.arange(len(points)) % 32)
        things += placed
    for name, rows in tables.items():
        write_text(root / f"v1.0-mini/{name}.json", json.dumps(rows, indent=0))
    return things


def write_argoverse2(root: Path, compression: str = "lz4") -> list[Thing]:
    import pyarrow as pa
    from pyarrow import feather

    things, rows = [], []
    for frame in (0, 1):
        time = 315966070559696000 + 100_000_007 * frame  # does not fit a float64
        pair = [car(yaw=0.7 + frame, seed=frame), person()]
        points, light, _ = sweep(pair)
        columns = {name: pa.array(points[:, i].astype(np.float16)) for i, name in enumerate("xyz")}
        columns |= {
            "intensity": pa.array((light * 255).astype(np.uint8)),
            "laser_number": pa.array(np.arange(len(points)) % 64),
        }
        path = root / f"val/log-a/sensors/lidar/{time}.feather"
        path.parent.mkdir(parents=True, exist_ok=True)
        feather.write_feather(pa.table(columns), path, compression=compression)
        for thing in pair:
            w, x, y, z = wxyz(Rotation.from_matrix(thing.pose[:3, :3]))
            rows.append(
                {
                    "timestamp_ns": time,
                    "track_uuid": f"track-{thing.instance}",
                    "category": {"car": "REGULAR_VEHICLE", "pedestrian": "PEDESTRIAN"}[thing.kind],
                    **dict(zip(("length_m", "width_m", "height_m"), thing.size.tolist(), strict=True)),
                    **dict(zip(("qw", "qx", "qy", "qz"), (w, x, y, z), strict=True)),
                    **dict(zip(("tx_m", "ty_m", "tz_m"), thing.centre.tolist(), strict=True)),
                    "num_interior_pts": len(thing.local),
                }
            )
        things += pair
    feather.write_feather(pa.Table.from_pylist(rows), root / "val/log-a/annotations.feather", compression=compression)
    return things


def pcd_bytes(points: np.ndarray, light: np.ndarray, encoding: str = "binary") -> bytes:
    """x, y, z, padding without bytes, padding of 3, intensity; as PCL writes them."""
    n = len(points)
    header = (
        "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z _ _ intensity\nSIZE 4 4 4 1 1 4\n"
        f"TYPE F F F U U F\nCOUNT 1 1 1 0 3 1\nWIDTH {n}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\n"
        f"DATA {encoding}\n"
    ).encode()
    x, y, z = points.astype("<f4").T
    light = light.astype("<f4")
    if encoding == "ascii":
        rows = zip(x.tolist(), y.tolist(), z.tolist(), light.tolist(), strict=True)
        return header + "".join(f"{a!r} {b!r} {c!r} 0 0 0 {d!r}\n" for a, b, c, d in rows).encode()
    if encoding == "binary":
        dtype = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("_", "u1", (3,)), ("i", "<f4")])
        table = np.zeros(n, dtype)
        table["x"], table["y"], table["z"], table["i"] = x, y, z, light
        return header + table.tobytes()
    body = x.tobytes() + y.tobytes() + z.tobytes() + bytes(3 * n) + light.tobytes()
    packed = compress_lzf(body)
    return header + struct.pack("<II", len(packed), len(body)) + packed


def compress_lzf(data: bytes) -> bytes:
    """A plain LZF compressor: the last place of every three bytes is remembered."""
    out, literal, seen, i = bytearray(), bytearray(), {}, 0

    def flush() -> None:
        for start in range(0, len(literal), 32):
            piece = literal[start : start + 32]
            out.append(len(piece) - 1)
            out.extend(piece)
        literal.clear()

    while i < len(data):
        place = seen.get(data[i : i + 3], -1)
        seen[data[i : i + 3]] = i
        back = i - place - 1
        if place < 0 or back >= 8192 or i + 3 > len(data):
            literal.append(data[i])
            i += 1
            continue
        length = 3
        while length < 264 and i + length < len(data) and data[place + length] == data[i + length]:
            length += 1
        flush()
        code = length - 2
        out.append((min(code, 7) << 5) | (back >> 8))
        if code >= 7:
            out.append(code - 7)
        out.append(back & 255)
        i += length
    flush()
    return bytes(out)


def ply_bytes(points: np.ndarray, light: np.ndarray, encoding: str = "binary_little_endian") -> bytes:
    """Vertices with a colour byte between the coordinates and the intensity, and one face after them."""
    order = ">" if encoding == "binary_big_endian" else "<"
    header = (
        f"ply\nformat {encoding} 1.0\ncomment made for a test\nelement vertex {len(points)}\nproperty float x\n"
        "property double y\nproperty float z\nproperty uchar red\nproperty float intensity\nelement face 1\n"
        "property list uchar int vertex_indices\nend_header\n"
    ).encode()
    if encoding == "ascii":
        rows = zip(points.tolist(), light.tolist(), strict=True)
        return header + "".join(f"{x!r} {y!r} {z!r} 255 {i!r}\n" for (x, y, z), i in rows).encode() + b"3 0 1 2\n"
    table = np.zeros(len(points), np.dtype(f"{order}f4,{order}f8,{order}f4,u1,{order}f4"))
    table["f0"], table["f1"], table["f2"], table["f4"] = *points.T, light
    return header + table.tobytes() + struct.pack(f"{order}Biii", 3, 0, 1, 2)


def write_class_folder(root: Path) -> list[Thing]:
    """The same car in every kind of file, and pedestrians in two views of one."""
    thing, light = car(), np.linspace(0, 1, len(car().local))
    folder = root / "car"
    folder.mkdir(parents=True)
    np.save(folder / "a.npy", np.column_stack([thing.points, light]))
    np.savez(folder / "b.npz", points=thing.points, intensity=light)
    write_bin(folder / "c.bin", thing.points, light)
    write_bin(folder / "d.pcd.bin", thing.points, light * 255, light)
    for encoding in ("ascii", "binary", "binary_compressed"):
        (folder / f"e_{encoding}.pcd").write_bytes(pcd_bytes(thing.points, light, encoding))
    for encoding in ("ascii", "binary_little_endian", "binary_big_endian"):
        (folder / f"f_{encoding}.ply").write_bytes(ply_bytes(thing.points, light, encoding))
    np.savetxt(folder / "g.xyz", np.column_stack([thing.points, light]))
    heading = "id,x,y,z,intensity"
    table = np.column_stack([np.arange(len(light)), thing.points, light])
    np.savetxt(folder / "h.csv", table, delimiter=",", header=heading, comments="")
    np.savetxt(folder / "i.txt", np.column_stack([thing.points, light]), header="made for a test")
    for view in ("front", "back"):
        path = root / f"pedestrian/ann/{view}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, person().points)
    return [thing] * 13 + [person()] * 2
