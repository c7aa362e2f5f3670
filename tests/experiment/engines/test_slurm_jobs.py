"""SLURM jobs that die before their worker is there are replaced, and a run does not wait for them without end."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from experiment.engines.stand_in_slurm import StandInSlurm
from experiment.engines.sweeps import LINEAR, assert_same_files

from airbayes.cli.main import main
from airbayes.errors import ResultsError
from airbayes.experiment.engines import jobs
from airbayes.experiment.engines.jobs import AGAIN, GONE_S, QUEUED_S, SILENT_S, STARTED_S, STAYED_S, JobWatch
from airbayes.experiment.engines.workforce import Patience

SMALL = LINEAR.replace("seeds = 4", "seeds = 2").replace("8000", "400").replace("1000", "100")
LIMIT_S = 240  # a run that is not over by then is killed
OPTIONS = ["--engine=slurm", "--memory=1GB", "--walltime=00:10:00", "--interface=lo"]
# The same run with less patience, so that nobody waits for the test.
PROGRAM = """
import airbayes.experiment.engines.jobs as jobs
from airbayes.cli.main import main
import sys
jobs.GONE_S = jobs.ASK_S = jobs.LOOK_S = 0.3
main(sys.argv[1:])
"""


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRBAYES_CACHE", "off")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    stand_in = StandInSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{stand_in.folder}:{os.environ['PATH']}")
    try:
        yield stand_in
    finally:
        stand_in.end()


def sweep(*more: str) -> tuple[str, int]:
    words = [sys.executable, "-c", PROGRAM, "run", "small.toml", "--out", "out", *OPTIONS, *more]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    return done.stdout + done.stderr, done.returncode


@pytest.mark.long
def test_jobs_that_die_are_replaced_and_a_run_without_any_ends(home: Path, slurm: StandInSlurm):
    pytest.importorskip("dask_jobqueue")
    slurm.let_die(AGAIN + 2)
    text, code = sweep()
    assert code == 2, text
    assert slurm.submitted == AGAIN + 1
    log = home / "out" / "slurm" / f"airbayes-{AGAIN + 1}.err"
    assert (
        f"SLURM job {AGAIN + 1} ended before its worker was there. Its log, {log}, ends with: python: no such" in text
    )
    assert "--interface lo" in text
    assert "What was saved before is kept. Then go on with: airbayes run small.toml" in text

    text, code = sweep()  # its first job dies too, and the second does not
    assert code == 0, text
    assert slurm.submitted == AGAIN + 3
    assert f"SLURM job {AGAIN + 2} ended before its worker was there" in text
    assert f"Submitting another, 1 of {AGAIN}" in text
    assert "2 done, 0 failed" in text
    assert not (home / "out" / "progress").exists()
    shutil.rmtree(home / "out" / "slurm")
    with pytest.raises(SystemExit):
        main(["run", "small.toml", "--out", "whole", "--quiet"])
    assert_same_files(home / "whole", home / "out")


class Made:
    """A cluster whose jobs are numbers, a queue that says what it is told to, and a clock."""

    status = SimpleNamespace(name="running")

    def __init__(self, wanted: int = 1):
        self.now, self.count = 0.0, 0
        self.worker_spec: dict[str, object] = {}
        self.workers: dict[str, SimpleNamespace] = {}
        self.scheduler = SimpleNamespace(workers={})
        self.state = "PENDING"  # of all jobs; "" when the queue does not know them
        self.refuse, self.silent = False, False
        self.told: list[str] = []
        self.watch = JobWatch(self, wanted, Path("/nowhere"), "Mend it.", self.told.append, self.call, lambda: self.now)

    def new_worker_spec(self) -> dict[str, object]:
        self.count += 1
        return {f"worker-{self.count}": None}

    async def _correct_state(self) -> None:
        self.workers = {name: job for name, job in self.workers.items() if name in self.worker_spec}
        for name in set(self.worker_spec) - set(self.workers):
            identity = None if self.refuse else name.removeprefix("worker-")
            self.workers[name] = SimpleNamespace(job_id=identity, refused="no such partition" if self.refuse else "")
        if self.refuse:
            raise RuntimeError("no such partition")

    async def call(self, command: list[str]) -> str:
        if self.silent:
            raise RuntimeError("squeue did not answer")
        known = [job.job_id for job in self.workers.values() if self.state]
        return "".join(f"{job}|{self.state}|Priority\n" for job in known)

    def connect(self, *names: str) -> None:
        self.scheduler.workers = {name: SimpleNamespace(name=name) for name in names}

    def after(self, seconds: float) -> None:
        """Look twice in so many seconds: the queue is asked, and what it said has stood for the rest."""
        for part in (min(jobs.ASK_S, seconds), max(seconds - jobs.ASK_S, 0.0)):
            self.now += part
            asyncio.run(self.watch.watch())

    def until_it_ends(self, seconds: float) -> str:
        for _ in range(3 * AGAIN + 10):
            try:
                self.after(seconds + jobs.ASK_S)
            except ResultsError as end:
                return str(end)
        pytest.fail("it waits without end")


def test_a_job_in_the_queue_is_waited_for():
    made = Made()
    for _ in range(20):
        made.after(QUEUED_S / 30)
    assert made.count == 1
    assert any("1 queued (Priority)" in text for text in made.told)
    assert "is still in the queue: Priority" in made.until_it_ends(QUEUED_S)  # though not for ever
    assert made.count == 1 + AGAIN


@pytest.mark.parametrize(
    ("state", "limit", "words"), [("RUNNING", STARTED_S, "runs, but"), ("", GONE_S, "ended before")]
)
def test_a_job_without_a_worker_is_submitted_again_and_then_given_up(state, limit, words):
    made = Made(wanted=2)
    made.state = state
    text = made.until_it_ends(limit)
    assert words in text
    assert "Mend it." in text
    assert made.count == 2 * (1 + AGAIN)


def test_what_sbatch_said_is_told():
    made = Made()
    made.refuse = True
    assert "could not be submitted: no such partition" in made.until_it_ends(GONE_S)


def test_a_queue_that_does_not_answer_is_waited_for_a_while():
    made = Made()
    made.after(0.0)
    made.silent = True
    made.after(SILENT_S / 2)
    assert "squeue did not answer" in made.until_it_ends(SILENT_S)
    assert made.count == 1


def test_a_worker_that_stayed_is_replaced_as_often_as_need_be():
    made = Made()
    for round in range(1, 3 * AGAIN):
        made.state = "RUNNING"
        made.after(0.0)
        made.connect(f"worker-{round}")
        made.after(STAYED_S + jobs.ASK_S)
        made.connect()
        made.state = ""
        made.after(GONE_S + jobs.ASK_S)
        assert made.count == round + 1
    assert not any("before its worker" in text for text in made.told)


def test_a_unit_that_is_settled_counts_for_the_jobs():
    """A unit may kill its job: it is given up after a few, and the jobs for the others are not counted against them."""
    made = Made()
    made.state = ""
    for round in range(3 * AGAIN):
        made.after(GONE_S + jobs.ASK_S)
        if round % AGAIN == AGAIN - 1:
            made.watch.settled()
    assert made.count > 2 * AGAIN


def test_workers_of_others_are_waited_for_with_an_end():
    now, told = [0.0], []
    patience = Patience("tcp://there:1", 3600.0, "Start workers.", told.append, lambda: now[0])
    for now[0] in (0.0, 20.0, 40.0, 3500.0):
        patience.look(0)
    assert len(told) == 2
    patience.look(1)
    now[0] += 3599.0
    patience.look(0)
    now[0] += 2.0
    with pytest.raises(ResultsError, match=r"No worker at tcp://there:1 for 3600 s. Start workers."):
        patience.look(0)
