"""Others: what the lines without a message look like, so that no other program's file is taken for ours."""

from __future__ import annotations

_WITH_CONTENT = frozenset(("bad-json", "torn-tail", "not-a-message", "unreadable-json"))


class Others:
    """Counts lines that hold no message. Blank ones, and zero bytes, say nothing."""

    def __init__(self) -> None:
        #: Objects with keys, or lists of them: what another program writes.
        self.foreign = 0
        #: Damaged lines that may have been messages, and all else.
        self.like_ours = self.strange = 0

    def add(self, code: str, line: bytes) -> None:
        """One line more, with the code of what is wrong with it."""
        if code not in _WITH_CONTENT:
            return
        bare = line.strip(b"\0 \t\r").removeprefix(b"\xef\xbb\xbf")
        if code == "not-a-message" and bare[:1] in (b"{", b"[") and bare.lstrip(b" \t[{").startswith(b'"'):
            self.foreign += 1
        elif b'"role"' in line:
            self.like_ours += 1
        else:
            self.strange += 1

    def rule_out(self, *, in_store: bool) -> bool:
        """Whether a file without any message is none of ours, as far as its lines tell.

        A conversation of a store is ours by its place; there only what another program wrote tells.
        """
        return bool(self.foreign or (self.strange and not self.like_ours and not in_store))
