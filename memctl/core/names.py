"""Names and references: how users, conversations and tenants are written on disk and on the command line.

On disk a name is itself, with `/`, `%`, control characters and a leading `.` percent-encoded (UTF-8,
upper-case hex), so every name round-trips and none leaves its directory.
"""

from __future__ import annotations

from typing import NamedTuple

from memctl.errors import BadName, BadReference, UsageError

SUFFIX = ".jsonl"
ACTIVITIES_SUFFIX = ".jsonl.activities"
#: The end of the name of the file beside a repaired one that has what was taken out of that.
QUARANTINE_SUFFIX = ".quarantine"
#: The longest file name that ext4, XFS, APFS and most others take, in bytes.
FILE_NAME_MAX_BYTES = 255
#: Arguments with one of these ends are files, whether they exist or not.
PATH_ENDS = (".jsonl", ".json", ".gz", ".zst", ".zip", ".db", ".bak")
PATH_STARTS = ("/", "./", "../", "~")


class Reference(NamedTuple):
    """What an argument names: a conversation, or a user alone (conversation is None)."""

    user: str
    conversation: str | None = None

    def __str__(self) -> str:
        return self.written()

    def written(self) -> str:
        """The reference as it is typed: `/` and `%` inside a name are `%2F` and `%25`.

        What would read as a path has its first character, or the point of its end, encoded too.
        """
        parts = [self.user] if self.conversation is None else [self.user, self.conversation]
        text = "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
        if text.endswith(PATH_ENDS):
            stem, _, end = text.rpartition(".")
            text = f"{stem}%2E{end}"
        return f"{_percent(text[0])}{text[1:]}" if is_path(text) else text


def encode(name: str) -> str:
    """The file name of a name, without suffix."""
    first = "%2E" if name.startswith(".") else name[:1]
    if name.isascii() and name.isprintable() and "/" not in name and "%" not in name:
        return first + name[1:]
    encoded = "".join(f"%{ord(c):02X}" if c in "/%" or c < " " or c == "\x7f" else c for c in name)
    encoded = "".join(_percent(c) if "\x80" <= c <= "\x9f" else c for c in encoded)
    return "%2E" + encoded[1:] if encoded.startswith(".") else encoded


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8"))


def decode(file_name: str) -> str | None:
    """The name that is stored under `file_name`, or None if it was written by another rule."""
    try:
        name = unquote(file_name)
        return name if usable(name) and encode(name) == file_name else None
    except ValueError:
        return None


def unquote(text: str) -> str:
    """`%XX` decoded; a `%` without two hex digits stands for itself. UnicodeDecodeError is a ValueError."""
    if "%" not in text:
        return text
    out = bytearray()
    pieces = text.split("%")
    out += pieces[0].encode("utf-8")
    for piece in pieces[1:]:
        digits = piece[:2]
        if len(digits) == 2 and all(c in "0123456789abcdefABCDEF" for c in digits):
            out.append(int(digits, 16))
            out += piece[2:].encode("utf-8")
        else:
            out += b"%" + piece.encode("utf-8")
    return out.decode("utf-8")


def usable(name: str) -> bool:
    """Whether a name has any text and is text: no lone surrogates."""
    return bool(name.strip()) and not any("\ud800" <= c <= "\udfff" for c in name)


def check(name: str, kind: str) -> str:
    """`name` itself, if it can be a user, a conversation or a tenant (`kind`); BadName otherwise."""
    if not usable(name):
        what = "is blank" if not name.strip() else "is not valid UTF-8"
        raise BadName(f"this {kind} name {what}: {name!r}")
    if kind == "conversation" and name.endswith(SUFFIX):
        raise BadName(
            f"a conversation name cannot end in {SUFFIX}: {name}",
            hint=f"leave the end out: {name[: -len(SUFFIX)]}; a file is written as a path: ./{name}",
        )
    size_bytes = len((encode(name) + ACTIVITIES_SUFFIX).encode("utf-8"))
    if size_bytes > FILE_NAME_MAX_BYTES:
        raise BadName(
            f"this {kind} name is too long: its file name would have {size_bytes} bytes, "
            f"{FILE_NAME_MAX_BYTES} are possible: {name[:40]}…"
        )
    return name


def is_path(argument: str) -> bool:
    """Whether an argument is a path; it depends on the text alone, never on what exists."""
    return argument == "-" or argument.startswith(PATH_STARTS) or argument.endswith(PATH_ENDS)


def parse_reference(argument: str, *, conversation: bool | None = True) -> Reference:
    """The reference in an argument. `conversation`: True needs one, False a user alone, None takes both.

    Raises BadName for parts that cannot be names, UsageError when a conversation is missing or too much.
    """
    user, slash, rest = argument.partition("/")
    if "/" in rest:
        raise BadReference(
            f"a second / in the reference {argument!r}",
            hint="a / inside a name is written %2F, a % is written %25; a file is written ./PATH",
        )
    if slash and conversation is False:
        raise UsageError(f"a user alone is expected, not {argument}")
    if not slash and conversation is True:
        raise UsageError(f"USER/CONVERSATION is expected, not {argument!r}", hint=f"memctl list {argument}")
    return Reference(_part(user, "user"), _part(rest, "conversation") if slash else None)


def reference_part(text: str, kind: str) -> str:
    """The name that is typed as `text`, `%XX` decoded. Raises BadName for what is not UTF-8 then."""
    try:
        return unquote(text)
    except ValueError:
        raise BadName(f"this {kind} name is not valid UTF-8: {text!r}") from None


def _part(text: str, kind: str) -> str:
    return check(reference_part(text, kind), kind)


def folded_twin(name: str, siblings: list[str]) -> str | None:
    """The file name among `siblings` that `name` would meet on a case-folding or normalising file system."""
    from unicodedata import normalize

    def key(text: str) -> str:
        return normalize("NFC", text).casefold()

    for sibling in siblings:
        if sibling != name and key(sibling) == key(name):
            return sibling
    return None
