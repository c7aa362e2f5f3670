"""What the site has beyond the files in docs/: pages made of other files of the repository, and of notebooks.

- README, CONTRIBUTING and CHANGELOG become index, contributing and changelog.
- A source file that a page links to becomes a page that shows it.
- Every notebook is run while the site is built, and becomes a page with its output.
- A page that the navigation does not name is listed under "More".
- Pairs of numbers in tables, 0.65 / 0.19, and options, --dry-run, are not broken.
- Every figure leads to its file; a wide one keeps its size on a phone, and scrolls.
"""

import posixpath
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
SHOWN = {".py": "python", ".cff": "yaml", ".toml": "toml", "": "text"}
PAIR = re.compile(r"(?<=[\d%–]) / (?=[\d.–−])|(?<=\d), (?=[+−-]?[\d.]+\])|(?<=\d) (?=%)")  # 0.6 / 0.1, [−0.1, 0.2], 9 %
CODE = re.compile(r"(?<!</span>)<code>[^<]*</code>")  # in a sentence: in blocks a span stands before it
OPTION = re.compile(r"--[a-z][\w.-]*")
FIGURE = re.compile(r'<img [^>]*?src="([^":]+\.png)"[^>]*>')
WIDE = 900  # pixels: several panels beside each other
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    named = set(_pages_in(config.nav))
    docs = Path(config.docs_dir)
    missing = sorted(str(path.relative_to(docs)) for path in docs.rglob("*.md"))
    missing = [page for page in missing if page not in named]
    if missing and config.nav is not None:
        config.nav.append({"More": missing})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    texts = {page: (ROOT / name).read_text(encoding="utf-8") for name, page in TOP.items()}
    names = {page: name for name, page in TOP.items()}
    for file in files.documentation_pages():
        names[file.src_uri] = f"docs/{file.src_uri}"
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        text, pictures = _run(notebook)
        page = f"notebooks/{notebook.stem}.md"
        texts[page], names[page] = text, f"docs/notebooks/{notebook.name}"
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    for page, name in names.items():
        text = texts[page] if page in texts else (ROOT / name).read_text(encoding="utf-8")
        for target in _linked(text, name):
            shown = ROOT / target
            uri = _uri(target)
            if uri.startswith("source/") and files.get_file_from_path(uri) is None and shown.is_file():
                code = shown.read_text(encoding="utf-8")
                body = f"# `{target}`\n\n````{SHOWN[shown.suffix]}\n{code}````\n"
                files.append(File.generated(config, uri, content=body, inclusion=_not_in_nav()))
    for page, text in texts.items():
        files.append(File.generated(config, page, content=_relink(text, names[page], page)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    markdown = "\n".join(_unbroken(line) if line.startswith("|") else line for line in markdown.split("\n"))
    if page.file.generated_by is not None:  # its links were set when it was made
        return markdown
    return _relink(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    def figure(found: re.Match) -> str:
        file = files.get_file_from_path(posixpath.normpath(posixpath.join(posixpath.dirname(page.url), found[1])))
        width = 0 if file is None else int.from_bytes(file.content_bytes[16:20], "big")  # of a PNG
        kind = "figure wide" if width >= WIDE else "figure"
        return f'<a class="{kind}" href="{found[1]}" title="Full size">{found[0]}</a>'

    html = CODE.sub(lambda code: OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)
    return FIGURE.sub(figure, html)


def _not_in_nav():
    from mkdocs.structure.files import InclusionLevel

    return InclusionLevel.NOT_IN_NAV


def _pages_in(nav) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for part in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages_in(part)


def _linked(text: str, name: str) -> Iterator[str]:
    """Paths in the repository that a page links to."""
    for target, _ in LINK.findall(text):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(name), target))


def _uri(path: str) -> str:
    """Where a file of the repository is in the site."""
    if path in TOP:
        return TOP[path]
    if path.startswith("docs/"):
        return re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))
    return f"source/{path}.md"


def _relink(text: str, name: str, page: str) -> str:
    """The links of file `name`, which becomes `page`, as links within the site."""

    def link(found: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[1]))
        return f"]({posixpath.relpath(_uri(target), posixpath.dirname(page) or '.')}{found[2] or ''})"

    return LINK.sub(link, text)


def _unbroken(row: str) -> str:
    """A row of a table in which numbers that belong together stay on one line."""
    return PAIR.sub(lambda found: found[0].replace(" ", "\u00a0"), row)


def _run(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """The page of a notebook, run in a process of its own, and its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        script = str(Path(__file__).with_name("notebook.py"))
        done = subprocess.run([sys.executable, script, str(notebook), folder], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{notebook.name} does not run:\n{done.stderr}")
        pictures = {path.name: path.read_bytes() for path in Path(folder).glob("*.png")}
        return (Path(folder) / f"{notebook.stem}.md").read_text(encoding="utf-8"), pictures
