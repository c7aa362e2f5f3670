"""A SLURM job of dask-jobqueue whose commands always come back.

Imported by engines that run on SLURM only: dask-jobqueue is an extra.
"""

import asyncio
from typing import Any

from dask_jobqueue.slurm import SLURMJob
from distributed.core import Status

COMMAND_S = 60.0  # for sbatch, squeue and scancel to answer


class PromptJob(SLURMJob):
    """dask-jobqueue waits for its commands without end, and forgets why a job could not be submitted."""

    refused = ""  # what sbatch said

    async def start(self) -> None:
        try:
            await super().start()
        except (RuntimeError, ValueError) as error:  # ValueError: it named no job
            self.refused = str(error)
            raise

    async def close(self) -> None:
        await super().close()
        self.status = Status.closed  # Dask insists on it when a cluster closes

    @staticmethod
    async def _call(cmd: list[str], *, shell: bool = False, **kwargs: Any) -> str:
        return await call(cmd)


async def call(command: list[str]) -> str:
    """What a command prints. RuntimeError when it fails or takes too long; then it is killed."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise RuntimeError(f"{command[0]} cannot be started: {error.strerror or error}") from None
    try:
        out, wrong = await asyncio.wait_for(process.communicate(), COMMAND_S)
    except TimeoutError:
        raise RuntimeError(f"{command[0]} did not answer in {COMMAND_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode != 0:
        said = wrong.decode(errors="replace").strip() or "nothing"
        raise RuntimeError(f"{command[0]} failed with exit code {process.returncode} and said: {said}")
    return out.decode(errors="replace")
