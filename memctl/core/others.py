"""Others: what lines without message or record look like, lest another program's file be taken for ours."""

from __future__ import annotations

_NONE = frozenset(("not-a-message", "not-a-record"))
_WITH_CONTENT = _NONE | {"bad-json", "torn-tail", "unreadable-json"}


class Others:
    """Counts lines that hold no message (no record). Blank ones, and zero bytes, say nothing.

    Each that is one has the text `key`.
    """

    def __init__(self, key: str) -> None:
        self._key = b'"%s"' % key.encode()
        #: Objects with keys, or lists of them: what another program writes.
        self.foreign = 0
        #: Damaged lines that may have been messages, and all else.
        self.like_ours = self.strange = 0

    def add(self, code: str, line: bytes) -> None:
        """One line more, with the code of what is wrong with it."""
        if code not in _WITH_CONTENT:
            return
        bare = line.strip(b"\0 \t\r").removeprefix(b"\xef\xbb\xbf")
        if code in _NONE and bare[:1] in (b"{", b"[") and bare.lstrip(b" \t[{").startswith(b'"'):
            self.foreign += 1
        elif self._key in line:
            self.like_ours += 1
        else:
            self.strange += 1

    def rule_out(self, *, in_store: bool) -> bool:
        """Whether a file without any message is none of ours, as far as its lines tell.

        A file of a store is ours by its place; there only what another program wrote tells.
        """
        return bool(self.foreign or (self.strange and not self.like_ours and not in_store))
