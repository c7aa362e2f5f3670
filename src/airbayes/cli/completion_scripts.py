"""The completion scripts, written from the pages of `completion.py`."""

import shlex
from collections.abc import Callable, Iterable, Sequence

from airbayes.cli.completion import Page


def bash(pages: Sequence[Page]) -> str:
    top = [page.name for page in pages if len(page.words) == 1]
    lines = [
        "# bash completion of airbayes",
        "_airbayes() {",
        '  local cur="${COMP_WORDS[COMP_CWORD]}" cmd="${COMP_WORDS[1]}" option= many=',
        "  local options= first= values= list= at=2 files=1 place",
        "  local IFS=$'\\n'  # names of files may hold blanks",
        "  COMPREPLY=()",
        '  if [[ "$cur" == "=" ]]; then cur=; fi  # --name=value is three words',
        "  for (( place = COMP_CWORD - 1; place > 1; place-- )); do  # the option before, and whether values follow it",
        '    case "${COMP_WORDS[place]}" in',
        '      --*) option="${COMP_WORDS[place]}"; break ;;',
        '      "=") ;;',
        "      *) many=1 ;;",
        "    esac",
        "  done",
        "  if (( COMP_CWORD == 1 )); then",
        f'    COMPREPLY=($(compgen -W {_lines([*top, "--help", "--version"])} -- "$cur"))',
        "    return",
        "  fi",
        '  case "$cmd ${COMP_WORDS[2]}" in',
    ]
    for page in sorted(pages, key=lambda page: -len(page.words)):  # subcommands before their command
        pattern = f'"{" ".join(page.words)}"' if len(page.words) > 1 else f'"{page.name} "*'
        lines += [f"    {pattern})"]
        if len(page.words) > 1:
            lines += ["      (( COMP_CWORD > 2 )) && at=3"]
        lines += [f"      options={_lines(page.options)}", f"      first={_lines(page.values)}"]
        lines += [] if page.takes_files else ["      (( COMP_CWORD == 2 )) && files=0"]
        known = {name: values for name, values in page.options.items() if values}
        if known:
            lines += ['      case "$option" in']
            for name, values in known.items():
                lines += [f"        {name}) values={_lines(values)}{' list=1' * (name in page.lists)} ;;"]
            lines += ["      esac"]
        lines += ["      ;;"]
    lines += [
        "  esac",
        '  if [[ -n "$many" && -z "$list" ]]; then values=; fi',
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
        "  local files=1 option many list place",
        f"  commands=({' '.join(described)})",
        "  if (( CURRENT == 2 )); then",
        "    if [[ $PREFIX == -* ]]; then compadd -- --help --version; else _describe command commands; fi",
        "    return",
        "  fi",
        "  for (( place = CURRENT - 1; place > 2; place-- )); do  # the option before, and whether values follow it",
        "    if [[ $words[place] == --* ]]; then option=$words[place]; break; fi",
        "    many=1",
        "  done",
        "  if [[ $PREFIX == --*=* ]]; then option=${PREFIX%%=*} many=; compset -P '*='; fi",
        '  case "$words[2] $words[3]" in',
    ]
    for page in sorted(pages, key=lambda page: -len(page.words)):
        pattern = f'"{" ".join(page.words)}"' if len(page.words) > 1 else f'"{page.name} "*'
        lines += [
            f"    {pattern})",
            f"      options=({' '.join(page.options)})",
            f"      first=({' '.join(page.values)})",
        ]
        lines += [] if page.takes_files else ["      (( CURRENT == 3 )) && files=0"]
        known = {name: values for name, values in page.options.items() if values}
        if known:
            lines += ['      case "$option" in']
            for name, values in known.items():
                quoted = " ".join(map(shlex.quote, values))
                lines += [f"        {name}) values=({quoted}){' list=1' * (name in page.lists)} ;;"]
            lines += ["      esac"]
        lines += ["      ;;"]
    lines += [
        "  esac",
        "  if [[ -n $many && -z $list ]]; then values=(); fi",
        "  if (( $#values )) && [[ $PREFIX != -* ]]; then",
        "    compadd -a values",
        "  elif [[ $PREFIX == -* ]]; then",
        "    compadd -a options",
        "  else",
        "    (( CURRENT == 3 )) && compadd -a first",
        "    (( files )) && _files",
        "  fi",
        "}",
        'if [[ "$funcstack[1]" == _airbayes ]]; then _airbayes "$@"; else compdef _airbayes airbayes; fi',
    ]
    return "\n".join(lines) + "\n"


# Of fish's own helpers none looks at the place of a word: a folder named `run` would pass for the command.
FISH_HELPERS = """\
# fish completion of airbayes
function __airbayes_after -d 'the words typed so far begin with these'
    set -l words (commandline -opc)
    set -e words[1]
    set -l many (count $argv)
    test (count $words) -ge $many; and test "$words[1..$many]" = "$argv"
end
function __airbayes_next -d 'the word to complete is the first after these'
    set -l words (commandline -opc)
    set -e words[1]
    test "$words" = "$argv"
end
function __airbayes_within -d 'the last option typed so far is this one'
    set -l options (string match -- '--*' (commandline -opc))
    test (count $options) -gt 0; and test "$options[-1]" = "$argv"
end
complete -c airbayes -n __airbayes_next -f -l help
complete -c airbayes -n __airbayes_next -f -l version
"""


def fish(pages: Sequence[Page]) -> str:
    lines = []
    for page in pages:
        if len(page.words) == 1:
            summary = _quoted(page.summary)
            lines.append(f"complete -c airbayes -n __airbayes_next -f -a {page.name} -d '{summary}'")
        words = " ".join(page.words)
        if page.values:
            no_files = "" if page.takes_files else " -f"
            lines.append(f"complete -c airbayes -n '__airbayes_next {words}'{no_files} -a '{' '.join(page.values)}'")
        for name, values in page.options.items():
            offered = " ".join(f'"{value}"' if " " in value else value for value in values)
            given = f" -x -a '{offered}'" if values else ""
            lines.append(f"complete -c airbayes -n '__airbayes_after {words}' -l {name.removeprefix('--')}{given}")
            if values and name in page.lists:
                place = f"__airbayes_after {words}; and __airbayes_within {name}"
                lines.append(f"complete -c airbayes -n '{place}' -f -a '{offered}'")
    return FISH_HELPERS + "\n".join(lines) + "\n"


def _lines(words: Iterable[str]) -> str:
    """A list for bash, one word a line."""
    return "$'" + "\\n".join(words) + "'"


def _quoted(text: str) -> str:
    """For single quotes, and without what shells read in descriptions."""
    return text.replace("'", "’").replace(":", ",").replace("`", "").replace("\\", "")


SCRIPTS: dict[str, Callable[[Sequence[Page]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
