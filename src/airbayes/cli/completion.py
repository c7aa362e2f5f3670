"""`airbayes completion`: a script that lets the shell complete commands, presets, options and their values.

What can be completed is read from the commands' own help, so it is never behind; a new release needs a new script.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

from airbayes.cli.commands import COMMANDS, load_command
from airbayes.cli.help_options import help_of, lists_of, options_of, subcommands
from airbayes.errors import AirbayesError
from airbayes.text import fitted

USAGE = """\
airbayes completion: let your shell complete commands, presets and options.

usage: airbayes completion bash|zsh|fish

A folder that is not there: make it first, with mkdir -p.

bash, with its package bash-completion:
  airbayes completion bash \\
    > ~/.local/share/bash-completion/completions/airbayes
zsh, into a folder that is in $fpath before compinit:
  airbayes completion zsh > ~/.zfunc/_airbayes
fish:
  airbayes completion fish \\
    > ~/.config/fish/completions/airbayes.fish
"""
GRAPHS = ("full", "star", "ring", "line", "grid", "random_geometric", "erdos_renyi", "small_world")  # or CSV files


class Page(NamedTuple):
    """What can follow some words."""

    words: tuple[str, ...]  # command and subcommand
    summary: str
    options: dict[str, tuple[str, ...]]  # name → its values, where they are few and known
    values: tuple[str, ...]  # of the first argument: presets, subcommands
    takes_files: bool = True  # whether the first argument may be a file or folder
    lists: frozenset[str] = frozenset()  # options that take several values

    @property
    def name(self) -> str:
        return self.words[0]


def completion_command(args: list[str]) -> int:
    from airbayes.cli.completion_scripts import SCRIPTS

    if not args or args[0] in ("-h", "--help"):
        sys.stdout.write(fitted(USAGE))
        return 0 if args else 2
    if len(args) > 1 or args[0] not in SCRIPTS:
        raise AirbayesError(f"Unknown shell {' '.join(args)!r}. Shells: {', '.join(SCRIPTS)}.")
    sys.stdout.write(SCRIPTS[args[0]](list(pages())))
    return 0


def pages() -> Iterator[Page]:
    """A page for every command and subcommand."""
    from airbayes.experiment.presets import PRESETS

    for command in COMMANDS:
        if command.name == "completion":
            yield Page(("completion",), command.summary, {}, ("bash", "zsh", "fish"), False)
            continue
        run = load_command(command)
        text = help_of(run)
        below = subcommands(text)
        first = tuple(below) or (tuple(PRESETS) if command.name in ("run", "cite") else ())
        if command.name == "plan":
            first = GRAPHS
        more = {
            "run": {"--list": (), "--network.topologies": GRAPHS},
            "new": {"--preset": tuple(PRESETS)},
        }.get(command.name, {})
        yield Page((command.name,), command.summary, options_of(text) | more, first, not below, lists_of(text))
        for name, summary in below.items():
            text = help_of(run, [name])
            yield Page((command.name, name), summary, options_of(text), (), lists=lists_of(text))
