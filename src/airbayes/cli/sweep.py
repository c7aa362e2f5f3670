"""`airbayes run` on an engine: computes the units of a sweep, or a share of them, into the folder of the run."""

import sys

from rich.console import Console

from airbayes.cli.sweep_table import show_sweep
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.engines.clusters import open_cluster, workers_of
from airbayes.experiment.engines.here import run_here
from airbayes.experiment.engines.on_dask import OnDask
from airbayes.experiment.engines.options import EngineOptions, parse_shard
from airbayes.experiment.engines.sweep import Standing, Sweep
from airbayes.experiment.engines.units import Unit, cells_at, share_of, too_few_units, units_of
from airbayes.experiment.engines.work import STOP, Task
from airbayes.experiment.failures import FAILED, Failure, failures_text
from airbayes.experiment.journal import Journal, Stopped
from airbayes.experiment.toml_io import dump_config
from airbayes.files import write_text
from airbayes.text import plural

FAILED_UNITS = 1  # exit code


def say_failures(config: ExperimentConfig, failures: list[Failure]) -> int:
    """Of a run in this process, as of a sweep. The exit code."""
    units = {tuple(cells_at(config, unit.cells)): unit for unit in units_of(config)}
    named = [(str(units[tuple(failure.cells)]), failure) for failure in failures]
    sys.stderr.write(failures_text(named, len(units)))
    return FAILED_UNITS


class SweepRun:
    """The units of one run, and what is done of them."""

    def __init__(self, config: ExperimentConfig, journal: Journal, options: EngineOptions, console: Console):
        self.config, self.journal, self.options, self.console = config, journal, options, console
        self.units, self.text = units_of(config), dump_config(config)
        (journal.folder / STOP).unlink(missing_ok=True)  # of a run that was stopped

    def run_share(self) -> int | None:
        """This process's share. The exit code, or None when all units, of all shares, are done."""
        index, count = parse_shard(self.options.shard or "0/1")
        self._warn(count)
        mine = share_of(self.units, index, count)
        waiting = self.waiting(mine)
        with show_sweep(self.console) as show:
            sweep = Sweep(waiting, len(mine) - len(waiting), self.config.sampling.steps, show)
            run_here(sweep, self.task_of, self.journal.stop, self.journal.tell)
        if (code := self._end(sweep)) is not None:
            return code
        if left := len(self.waiting(self.units)):
            self.journal.tell(
                f"Shard {self.options.shard} is done: {len(mine)} of {plural(len(self.units), 'unit')}. Other shards "
                f"have {left} left; the shard that finishes last writes the results, or the same command without "
                "--shard."
            )
            return 0
        return None

    def run_on_cluster(self) -> int | None:
        """All units, on a Dask cluster. The exit code, or None when all are done."""
        waiting = self.waiting(self.units)
        if not waiting:
            return None
        if self.options.address is None:
            self._warn(workers_of(self.options))
        folder, tell = self.journal.folder.parent, self.journal.tell
        with open_cluster(self.options, folder, len(waiting), tell) as (client, workforce):
            self._warn_of_cluster(client.nthreads() if self.options.address else {})
            with show_sweep(self.console) as show:
                sweep = Sweep(waiting, len(self.units) - len(waiting), self.config.sampling.steps, show)
                stop_all = lambda reason: write_text(self.journal.folder / STOP, reason)  # noqa: E731
                OnDask(client, sweep, self.task_of, self.journal.stop, stop_all, tell, workforce).run()
        return self._end(sweep)

    def waiting(self, units: list[Unit]) -> list[Unit]:
        """Those whose results are not on disk."""
        return [unit for unit in units if self.journal.finished(cells_at(self.config, unit.cells)) is None]

    def task_of(self, unit: Unit) -> Task:
        folder = str(self.journal.folder.parent.absolute())
        return Task(folder, self.text, self.journal.run, unit.cells, self.journal.every_s)

    def _end(self, sweep: Sweep) -> int | None:
        """Name what failed; then stop as a run in one process does."""
        failed = sweep.of("failed")
        if failed:
            sys.stderr.write(failures_text([self._failure(standing) for standing in failed], len(self.units)))
        reason = self.journal.stop()
        if reason is not None and sweep.of("queued", "running", "stopped"):
            raise Stopped(reason)
        return FAILED_UNITS if failed or sweep.of("queued", "running", "stopped") else None

    def _failure(self, standing: Standing) -> tuple[str, Failure]:
        cells = cells_at(self.config, standing.unit.cells)
        place = self.journal.place(cells) / FAILED
        return str(standing.unit), Failure(cells, standing.text, place if place.exists() else None)

    def _warn(self, workers: int) -> None:
        if text := too_few_units(self.config, len(self.units), workers):
            self.journal.tell(text)

    def _warn_of_cluster(self, threads: dict[str, int]) -> None:
        if threads:
            self._warn(sum(threads.values()))
        if busy := sorted(worker for worker, count in threads.items() if count > 1):
            self.journal.tell(
                f"{busy[0]} runs {threads[busy[0]]} units at a time, in one process and its memory. Start workers with "
                "--nthreads 1 and more of them."
            )
        if (self.options.address or "").startswith("tcp://") and "//127." not in (self.options.address or ""):
            self.journal.tell("tcp:// is neither encrypted nor private: whoever reaches that port can run code there.")
