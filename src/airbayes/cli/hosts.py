"""Devices and processes of a run: how they find each other, and how they leave together.

A process that is lost ends the run in all others, at the next collective or when its heartbeat is missed. Whoever sees
that writes nothing any more and exits at once: waiting for the others would take minutes.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from airbayes.cli.devices import check_devices
from airbayes.cli.launch import may_speak
from airbayes.errors import AirbayesError, ConfigError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.engines.options import EngineOptions
from airbayes.experiment.validate_sharding import sharding_problems
from airbayes.leaving import leave_now

if TYPE_CHECKING:
    from jax.sharding import Mesh
    from rich.console import Console

    from airbayes.experiment.build import Builder

LOST = 69  # exit code: another process of the run is gone
AUTO = "auto"
CONNECT_S, HEARTBEAT_S = 300, 60
Value = TypeVar("Value")


def check_asked(devices: int, processes: int, process_id: int | None, coordinator: str | None) -> None:
    """Options that contradict each other, before anything is loaded."""
    for option, number, least in (("--devices", devices, 0), ("--processes", processes, 1)):
        if number < least:
            raise AirbayesError(f"{option} {number}: give at least {least}.")
    if coordinator is None and process_id is not None:
        raise AirbayesError("--process-id needs --coordinator HOST:PORT, where the processes meet.")
    if coordinator in (None, AUTO):
        return
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise AirbayesError(f"--coordinator {coordinator}: give HOST:PORT, or {AUTO} on a cluster such as SLURM.")
    if process_id is None or not 0 <= process_id < processes:
        raise AirbayesError(
            f"--coordinator {coordinator} needs --processes N and --process-id 0 to N − 1, one for each process; got "
            f"--processes {processes} --process-id {process_id}."
        )


def check_alone(engine: EngineOptions, *, several: bool) -> None:
    """Engines split a study by cells, devices and processes split each network: one or the other."""
    if several and (engine.on_cluster or engine.shard is not None):
        asked = f"--shard {engine.shard}" if engine.shard is not None else f"--engine {engine.engine}"
        raise AirbayesError(
            f"{asked} shares out cells; --devices, --processes and --coordinator split the agents of each network. "
            "They do not go together: leave one of them out."
        )


def connect(devices: int, processes: int, process_id: int | None, coordinator: str | None) -> None:
    """Before JAX is used: virtual devices on a CPU, and the other processes."""
    if devices < 2 and coordinator is None:
        return
    import jax

    if devices > 1:
        jax.config.update("jax_num_cpu_devices", devices)
    if coordinator is None:
        return
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    limits: dict[str, Any] = {"initialization_timeout": CONNECT_S, "heartbeat_timeout_seconds": HEARTBEAT_S}
    try:
        if coordinator == AUTO:
            jax.distributed.initialize(**limits)
        else:  # bound to the named address alone; JAX's default is every interface
            place: dict[str, Any] = {"coordinator_address": coordinator, "coordinator_bind_address": coordinator}
            numbers: dict[str, Any] = {"num_processes": processes, "process_id": process_id}
            jax.distributed.initialize(**place, **numbers, **limits, cluster_detection_method="deactivate")
        check_devices()
        # The first message must find all of them within half a minute: so it is sent now, not after the checks.
        from airbayes.experiment.team import wait_for_all

        wait_for_all()
    except (RuntimeError, ValueError) as error:
        if coordinator == AUTO and isinstance(error, ValueError):  # it found too few of them
            raise AirbayesError(
                f"--coordinator {AUTO}: the variables of SLURM or Open MPI are not set here. Start it with srun or "
                "mpirun, or name HOST:PORT with --processes and --process-id."
            ) from None
        where = "the cluster's variables (SLURM, Open MPI, ...)" if coordinator == AUTO else coordinator
        raise AirbayesError(f"The processes of this run did not meet at {where}: {error}") from None


def quieten_libraries() -> None:
    """Standard output is for results: what the libraries below Python print there (gloo, on connecting) is dropped."""
    sys.stdout.flush()
    ours = os.dup(1)
    sys.stdout = os.fdopen(ours, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def agents_mesh(config: ExperimentConfig, devices: int) -> "Mesh | None":
    """The devices over which agents are split; None for one device. Raises ConfigError where that cannot be done."""
    import jax

    from airbayes.experiment.sharding import make_mesh

    each = devices or (jax.local_device_count() if jax.process_count() > 1 else 1)
    if each > jax.local_device_count():
        kind = jax.local_devices()[0].platform
        raise AirbayesError(f"--devices {each}: this process sees {jax.local_device_count()} ({kind}).")
    by_process: dict[int, list] = {}
    for device in sorted(jax.devices(), key=lambda device: device.id):
        by_process.setdefault(device.process_index, []).append(device)
    chosen = [device for index in sorted(by_process) for device in by_process[index][:each]]
    if len({len(found) >= each for found in by_process.values()}) != 1:
        raise AirbayesError(f"--devices {each}: not every process has so many devices; name a smaller number.")
    if problems := sharding_problems(config, len(chosen)):
        raise ConfigError(problems)
    return make_mesh(chosen) if len(chosen) > 1 else None


def show_split(builder: "Builder", mesh: "Mesh", console: "Console") -> None:
    """How many agents each device holds, and how many rows it hears from others at every step."""
    own = builder.config.network.agents // mesh.size
    heard = {name: mixing.halo.heard() for name, mixing in builder.mixings.items() if mixing.halo is not None}
    rows = ", ".join(f"{count:,} ({name})" for name, count in heard.items())
    text = f"Agents over {mesh.size} devices: {own:,} on each; rows a device fetches from others at a step: {rows}."
    console.print(text, soft_wrap=True)


def several_processes() -> bool:
    import jax

    return jax.process_count() > 1


def is_first() -> bool:
    import jax

    return jax.process_index() == 0


def in_first(function: Callable[[], Value]) -> Value:
    """What `function` returns in the first process, on all of them; its error ends them all, told once."""
    if not several_processes():
        return function()
    from airbayes.experiment.team import tell_all

    if not is_first():
        failed, value = tell_all()
        if failed:
            sys.exit(2)
        return value
    try:
        value = function()
    except AirbayesError:
        tell_all((True, None))
        raise
    return tell_all((False, value))[1]


def in_all(function: Callable[[], Value]) -> Value:
    """What `function` returns, once it has succeeded everywhere; an error of any process ends them all, told once."""
    if not several_processes():
        return function()
    from airbayes.experiment.team import hear_all

    try:
        value, error = function(), None
    except AirbayesError as caught:
        value, error = None, caught
    told = hear_all("" if error is None else str(error))
    failed = next((index for index, text in enumerate(told) if text), None)
    if failed is None:
        return value  # pyright: ignore[reportReturnType]
    if not is_first():
        sys.exit(2)
    raise error or AirbayesError(f"Process {failed}: {told[failed]}")


@contextmanager
def leaving_together(debug: bool) -> Iterator[None]:
    """Whatever goes wrong in one process ends it at once: Python's own way out would wait for the others."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError):  # nobody reads any more
            if debug:
                traceback.print_exc()
            if (words := _last_words(error)) and may_speak():
                sys.stderr.write(words)
        leave_now(_code(error))  # without waiting for the other processes


def _last_words(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return ""
    if isinstance(error, KeyboardInterrupt):
        return f"{_who()} stopped at once. The run goes on from its last saved state: give the same command again.\n"
    if isinstance(error, AirbayesError):
        return f"error: {error}\n"
    first_line = (str(error).splitlines() or [""])[0][:200]
    return (
        f"error: {_who()} lost another one, or failed ({type(error).__name__}: {first_line}). Nothing was written "
        "after that; the same command goes on from the last saved state.\n"
    )


def _code(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    return 2 if isinstance(error, AirbayesError) else 130 if isinstance(error, KeyboardInterrupt) else LOST


def _who() -> str:
    import jax

    return f"process {jax.process_index()} of {jax.process_count()}"
