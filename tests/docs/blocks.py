"""The pages, and the blocks of code in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of these languages, in order; "" is a block that names none."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    return [text for language, text in found if language in languages]


def commands(page: Path) -> list[str]:
    """Lines of shell that call airbayes, without remarks, pipes and redirections; lines that go on are joined."""
    lines = "\n".join(blocks(page, "bash", "sh", "")).replace("\\\n", " ").splitlines()
    return [re.split(r"\s[#|>&]", line)[0].strip() for line in lines if re.match(r"\s*airbayes\s", line)]
