"""The command `airbayes`. Imports are lazy: help and errors do not wait for JAX."""

import os
import sys

from airbayes import __version__
from airbayes.errors import AirbayesError

USAGE = """\
airbayes: Bayesian federated learning over the air.

usage: airbayes COMMAND ...

commands:
  run EXPERIMENT     run a preset or an experiment file (.toml); `airbayes run --list` shows the presets
  merge DIR DIR ...  put runs together that were split by seed
  claims DIR ...     score the paper's claims on finished studies
  predict RUN FILE   class probabilities and uncertainty of objects, from a trained run
  data COMMAND ...   simulate, inspect and convert lidar objects
  bench              time airbayes beside its peers and against the machine's floors

options:
  -h, --help         this text; `airbayes run --help` lists every setting
  --version          print the version
"""


def main(argv: list[str] | None = None) -> None:
    """Run a command; exit code 2 for bad input, 130 after Ctrl-C."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        sys.exit(_dispatch(args))
    except AirbayesError as error:
        if "--debug" in args:
            raise
        sys.stderr.write(_message(error))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped at once. A run goes on from its last saved state: give the same command again.\n")
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _dispatch(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0 if args else 2
    if args[0] == "--version":
        sys.stdout.write(f"airbayes {__version__}\n")
        return 0
    if args[0] == "run":
        from airbayes.cli.run import run_command

        return run_command(args[1:])
    if args[0] == "merge":
        from airbayes.cli.merge import merge_command

        return merge_command(args[1:])
    if args[0] == "claims":
        from airbayes.cli.claims import claims_command

        return claims_command(args[1:])
    if args[0] == "predict":
        from airbayes.cli.predict import predict_command

        return predict_command(args[1:])
    if args[0] == "data":
        from airbayes.cli.data import data_command

        return data_command(args[1:])
    if args[0] == "bench":
        from airbayes.cli.bench import bench_command

        return bench_command(args[1:])
    raise AirbayesError(
        f"Unknown command {args[0]!r}. Commands: run, merge, claims, predict, data, bench; for example "
        "`airbayes run gaussian`. See `airbayes --help`."
    )


def _message(error: AirbayesError) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    head = "error: " if len(lines) == 1 or lines[1].startswith(" ") else f"{len(lines)} errors:\n  "
    joint = "\n" if head == "error: " else "\n  "
    return head + joint.join(lines) + "\n"


if __name__ == "__main__":
    main()
