"""Ink: the colours of the pages for people."""

from __future__ import annotations

_RESET = "\x1b[0m"
_SEVERITIES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}


class Ink:
    """Puts ANSI colours around text, or with `colour` False nothing."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def _in(self, code: str, text: str) -> str:
        return f"{code}{text}{_RESET}" if self._colour and text else text

    def severity(self, severity: str, text: str) -> str:
        """In the colour of an error, a warning or an info."""
        return self._in(_SEVERITIES[severity], text)

    def strong(self, text: str) -> str:
        """For names and headings."""
        return self._in("\x1b[1m", text)

    def faint(self, text: str) -> str:
        """For what stands beside the matter."""
        return self._in("\x1b[2m", text)

    def good(self, text: str) -> str:
        """For what is well."""
        return self._in("\x1b[32m", text)

    def marked(self, text: str) -> str:
        """For the wrong place in an excerpt: reverse video."""
        return self._in("\x1b[7m", text)
