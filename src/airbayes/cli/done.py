"""The last event of `airbayes run --json`."""

import sys
from pathlib import Path

UNITS_FAILED = "some units failed"


def say_done(status: str, folder: Path, files: list[str], reason: str | None = None) -> None:
    from airbayes.cli.json_events import json_line  # it needs JAX, which a command line that is wrong should not load

    sys.stdout.write(json_line("done", {"status": status, "folder": str(folder), "files": files, "reason": reason}))
