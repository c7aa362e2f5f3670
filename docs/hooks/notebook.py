"""Run a notebook and write it as a Markdown page with its output: `python docs/hooks/notebook.py NOTEBOOK FOLDER`.

Cells run one after the other in this process, as Jupyter runs them: what is printed, the value of a last expression
and open figures are the output of a cell. An exception ends it all with a non-zero exit code.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt


def run_cell(code: str, names: dict, title: str) -> str:
    """What the cell prints, and the value it ends with."""
    tree = ast.parse(code, title)
    shown = isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";")
    last = tree.body.pop() if shown else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, title, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), title, "eval"), names)
            if value is not None:
                print(repr(value))  # noqa: T201
    return printed.getvalue()


def run_notebook(notebook: Path, folder: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    names: dict = {"__name__": "__main__"}
    page, pictures = [], 0
    for number, cell in enumerate(cells):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            page.append(text)
            continue
        printed = run_cell(text, names, f"{notebook.name}[{number}]")
        page.append(f"```python\n{text}\n```")
        if printed:
            page.append(f"```text\n{printed.rstrip()}\n```")
        for figure in map(plt.figure, plt.get_fignums()):
            pictures += 1
            name = f"{notebook.stem}-{pictures}.png"
            figure.savefig(folder / name, dpi=110, bbox_inches="tight")
            page.append(f"![Output of the cell above]({name})")
        plt.close("all")
    started = f"`pip install jupyterlab`, then `jupyter lab docs/notebooks/{notebook.name}`"
    note = f"*A notebook, run when this page was built. To play with it: {started}.*"
    page.insert(1, note)
    (folder / f"{notebook.stem}.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_notebook(Path(sys.argv[1]), Path(sys.argv[2]))
