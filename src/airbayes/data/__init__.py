"""Lidar objects: the set, its file, the simulator, loaders of public formats, and the partition over agents."""

from airbayes.data.object_file import load_objects, save_objects
from airbayes.data.objects import ObjectSet, concatenate, from_clouds

__all__ = ["ObjectSet", "concatenate", "from_clouds", "load_objects", "save_objects"]
