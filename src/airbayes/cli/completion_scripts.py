"""The completion scripts, written from the pages of `completion.py`."""

from collections.abc import Callable, Sequence

from airbayes.cli.completion import Page


def bash(pages: Sequence[Page]) -> str:
    top = " ".join(page.name for page in pages if len(page.words) == 1)
    lines = [
        "# bash completion of airbayes",
        "_airbayes() {",
        '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="${COMP_WORDS[1]}"',
        "  local options= first= values= at=2 files=1",
        "  COMPREPLY=()",
        "  if (( COMP_CWORD == 1 )); then",
        f'    COMPREPLY=($(compgen -W "{top} --help --version" -- "$cur"))',
        "    return",
        "  fi",
        '  case "$cmd ${COMP_WORDS[2]}" in',
    ]
    for page in sorted(pages, key=lambda page: -len(page.words)):  # subcommands before their command
        pattern = f'"{" ".join(page.words)}"' if len(page.words) > 1 else f'"{page.name} "*'
        lines += [f"    {pattern})"]
        if len(page.words) > 1:
            lines += ["      (( COMP_CWORD > 2 )) && at=3"]
        lines += [f'      options="{" ".join(page.options)}"', f'      first="{" ".join(page.values)}"']
        lines += [] if page.takes_files else ["      (( COMP_CWORD == 2 )) && files=0"]
        known = {name: values for name, values in page.options.items() if values}
        if known:
            lines += ['      case "$prev" in']
            lines += [f'        {name}) values="{" ".join(values)}" ;;' for name, values in known.items()]
            lines += ["      esac"]
        lines += ["      ;;"]
    lines += [
        "  esac",
        '  if [[ -n "$values" && "$cur" != -* ]]; then',
        '    COMPREPLY=($(compgen -W "$values" -- "$cur"))',
        '  elif [[ "$cur" == -* ]]; then',
        '    COMPREPLY=($(compgen -W "$options" -- "$cur"))',
        "  elif (( COMP_CWORD == at )); then",
        '    COMPREPLY=($(compgen -W "$first" -- "$cur"))',
        '    (( files )) && COMPREPLY+=($(compgen -f -- "$cur"))',
        "  else",
        '    COMPREPLY=($(compgen -f -- "$cur"))',
        "  fi",
        "}",
        "complete -o filenames -F _airbayes airbayes",
    ]
    return "\n".join(lines) + "\n"


def zsh(pages: Sequence[Page]) -> str:
    described = [f"'{page.name}:{_quoted(page.summary)}'" for page in pages if len(page.words) == 1]
    lines = [
        "#compdef airbayes",
        "# zsh completion of airbayes",
        "_airbayes() {",
        "  local -a commands options first values",
        f"  commands=({' '.join(described)})",
        "  if (( CURRENT == 2 )); then",
        "    _describe command commands",
        "    return",
        "  fi",
        '  case "$words[2] $words[3]" in',
    ]
    for page in sorted(pages, key=lambda page: -len(page.words)):
        pattern = f'"{" ".join(page.words)}"' if len(page.words) > 1 else f'"{page.name} "*'
        lines += [
            f"    {pattern})",
            f"      options=({' '.join(page.options)})",
            f"      first=({' '.join(page.values)})",
        ]
        known = {name: values for name, values in page.options.items() if values}
        if known:
            lines += ['      case "$words[CURRENT-1]" in']
            lines += [f"        {name}) values=({' '.join(values)}) ;;" for name, values in known.items()]
            lines += ["      esac"]
        lines += ["      ;;"]
    lines += [
        "  esac",
        "  if (( $#values )) && [[ $PREFIX != -* ]]; then",
        "    compadd -a values",
        "  elif [[ $PREFIX == -* ]]; then",
        "    compadd -a options",
        "  else",
        "    (( CURRENT == 3 )) && compadd -a first",
        "    _files",
        "  fi",
        "}",
        'if [[ "$funcstack[1]" == _airbayes ]]; then _airbayes "$@"; else compdef _airbayes airbayes; fi',
    ]
    return "\n".join(lines) + "\n"


def fish(pages: Sequence[Page]) -> str:
    lines = ["# fish completion of airbayes"]
    for page in pages:
        summary = _quoted(page.summary)
        if len(page.words) == 1:
            lines.append(f"complete -c airbayes -n __fish_use_subcommand -f -a {page.name} -d '{summary}'")
            seen = f"__fish_seen_subcommand_from {page.name}"
        else:
            seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in page.words)
        if page.values:
            lines.append(f"complete -c airbayes -n '{seen}' -a '{' '.join(page.values)}'")
        for name, values in page.options.items():
            given = f" -x -a '{' '.join(values)}'" if values else ""
            lines.append(f"complete -c airbayes -n '{seen}' -l {name.removeprefix('--')}{given}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """For single quotes, and without what shells read in descriptions."""
    return text.replace("'", "").replace(":", ",").replace("`", "").replace("\\", "")


SCRIPTS: dict[str, Callable[[Sequence[Page]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
