"""Text from files, which may hold anything, made safe to show."""


def printable(text: str, limit: int = 60) -> str:
    """No control characters, and not too long."""
    shown = "".join(character if character.isprintable() else "?" for character in text[: limit + 1])
    return shown if len(shown) <= limit else shown[:limit] + "…"
