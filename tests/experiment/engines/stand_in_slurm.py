"""A SLURM of a few lines: sbatch really starts the job, squeue says which ones run, scancel ends one.

As on a cluster the script is copied before sbatch returns, and what the job prints goes to the files that it names.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

SBATCH = """#!/bin/bash
number=$(( $(cat {folder}/count 2>/dev/null || echo 0) + 1 ))
echo $number > {folder}/count
cp "$1" {folder}/$number.sh
log=$(sed -n "s/^#SBATCH -e //p" "$1")
if [ $number -le $(cat {folder}/die) ]; then
    echo "python: no such file" > "${{log/\\%J/$number}}"
else
    setsid timeout -s KILL 200 bash {folder}/$number.sh </dev/null > {folder}/$number.out 2> "${{log/\\%J/$number}}" &
    echo $! > {folder}/$number.pid
fi
echo "Submitted batch job $number"
"""
SQUEUE = """#!/bin/bash
for file in {folder}/*.pid; do
    [ -e "$file" ] && kill -0 $(cat $file) 2>/dev/null && echo "$(basename $file .pid)|RUNNING|None"
done
exit 0
"""
SCANCEL = """#!/bin/bash
[ -e {folder}/$1.pid ] && kill -- -$(cat {folder}/$1.pid) 2>/dev/null
exit 0
"""


class StandInSlurm:
    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
            (folder / name).write_text(text.format(folder=folder))
            (folder / name).chmod(0o755)
        self.let_die(0)

    def let_die(self, jobs: int) -> None:
        """The first so many jobs, counted from the first submission of all, end at once."""
        (self.folder / "die").write_text(str(jobs))

    @property
    def submitted(self) -> int:
        count = self.folder / "count"
        return int(count.read_text()) if count.exists() else 0

    def end(self) -> None:
        """Kill whatever runs; `timeout` would do it later."""
        for file in self.folder.glob("*.pid"):
            with suppress(ProcessLookupError, ValueError):
                os.killpg(int(file.read_text()), signal.SIGKILL)
        time.sleep(0.05)
