"""Where the metrics of a run go besides the results: a file of JSON lines always, TensorBoard and MLflow on demand.

Each is a `Tracker`; a run that goes on after an interruption repeats nothing in any of them.
"""

from airbayes.experiment.tracker_names import TRACKERS, check_trackers
from airbayes.experiment.tracking.base import Tracker, TrackingReporter
from airbayes.experiment.tracking.event_file import EVENTS, EventFile
from airbayes.experiment.tracking.open import open_trackers, tracked_in

__all__ = [
    "EVENTS",
    "TRACKERS",
    "EventFile",
    "Tracker",
    "TrackingReporter",
    "check_trackers",
    "open_trackers",
    "tracked_in",
]
