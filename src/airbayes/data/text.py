"""Text from files, made safe to show: `airbayes.text`."""

from airbayes.text import printable

__all__ = ["printable"]
