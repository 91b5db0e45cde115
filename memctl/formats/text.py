"""Messages as plain text: a window for prompts and people, a log for the terminal.

Every text from a message passes through `visible`, so nothing in it acts on a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.marker import EPHEMERAL, INCOMPLETE, SUMMARY, marked
from memctl.core.visible import visible
from memctl.formats.chat import Call, calls, legacy_call, string, text_of, tool_name
from memctl.formats.encoding import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: A call is folded to a line of about this many characters, a result to this many lines and characters.
CALL_LENGTH_MAX = 100
RESULT_LINES_MAX = 10
RESULT_LENGTH_MAX = 1000
#: A tool's name longer than services take is cut too.
NAME_LENGTH_MAX = 64
#: From here on a message's size is worth a word in its header.
SIZE_SHOWN_BYTES = 10_000

_RESET = "\x1b[0m"
_DIM = "\x1b[2m"
_ROLE_COLOURS = {
    "system": "\x1b[1;35m",
    "developer": "\x1b[1;35m",
    "user": "\x1b[1;32m",
    "assistant": "\x1b[1;36m",
    "tool": "\x1b[1;33m",
    "function": "\x1b[1;33m",
}


class Entry(NamedTuple):
    """One message of a log, as `show` prints it.

    `index` counts messages from 0, `line` lines of the file from 1; `created_at` is the stored time as text,
    None where there is none; `value` is the parsed message and `size_bytes` the length of its line.
    """

    index: int  # type: ignore[assignment]  # the field's own name, though tuples have a method of it
    line: int
    id: str
    created_at: str | None
    value: dict[str, Any]
    size_bytes: int


def window_text(values: Sequence[dict[str, Any]]) -> str:
    """The messages as `role (name): text`, calls as `→ name(arguments)`, results as `← name: text`.

    A blank line stands between messages; the text ends with a newline unless there are none. Media are
    named in brackets, reasoning is left out, lone surrogates are U+FFFD.
    """
    return "\n\n".join([_window_message(value) for value in values]) + "\n" if values else ""


def log_text(entries: Iterable[Entry], *, colour: bool, full: bool = False) -> Iterator[str]:
    """One block of lines a message: a header, then text, calls and results, indented by two blanks.

    A block ends with an empty line, so that blocks can follow each other as they come. Calls are folded to
    a line, results to `RESULT_LINES_MAX` lines; what is hidden is counted. With `full` nothing is folded.
    `colour` adds ANSI colours.
    """
    for entry in entries:
        lines = [_header(entry, colour), *(f"  {line}" if line else "" for line in _body(entry.value, full))]
        yield "\n".join(lines) + "\n\n"


def short_time(created_at: str | float | None) -> str:
    """`YYYY-MM-DD HH:MM:SS` in UTC, with up to three decimals where the second is not whole; `-` if unknown.

    Reads RFC 3339 (without zone: UTC), Unix seconds, and milliseconds above 10^11, as number or text.
    """
    from datetime import UTC

    from memctl.core.times import stored

    moment = stored(created_at)
    if moment is None:
        return "-"
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        return "-"
    fraction = f"{moment.microsecond // 1000:03d}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}{'.' + fraction if fraction else ''}"


def speaker(value: dict[str, Any]) -> str:
    """`role (name)`, made visible."""
    role = string(value.get("role")) or "-"
    name = tool_name(value) if role in ("tool", "function") else string(value.get("name"))
    return visible(whole(f"{role} ({name})" if name else role))


def markers(value: dict[str, Any]) -> list[str]:
    """The markers that are set, in brackets."""
    known = {"[summary]": SUMMARY, "[incomplete]": INCOMPLETE, "[ephemeral]": EPHEMERAL}
    return [shown for shown, marker in known.items() if marked(value, marker)]


def all_calls(value: dict[str, Any]) -> list[Call]:
    """The calls of a message in either form."""
    older = legacy_call(value)
    return calls(value) + ([older] if older else [])


def _window_message(value: dict[str, Any]) -> str:
    text = visible(whole(text_of(value, "\n")), keep_newlines=True)
    role = value.get("role")
    if role in ("tool", "function"):
        name = tool_name(value) or string(value.get("tool_call_id"))
        return f"← {visible(whole(name))}: {text}"
    made = [visible(whole(f"→ {call.name}({call.arguments})")) for call in all_calls(value)]
    head = " ".join([speaker(value), *markers(value)])
    return "\n".join([f"{head}: {text}" if text else f"{head}:", *made])


def _header(entry: Entry, colour: bool) -> str:
    who = speaker(entry.value)
    rest = [short_time(entry.created_at), visible(entry.id)]
    if marked := markers(entry.value):
        rest.append(" ".join(marked))
    if entry.line != entry.index + 1:
        rest.append(f"line {entry.line}")
    if entry.size_bytes >= SIZE_SHOWN_BYTES:
        rest.append(f"{entry.size_bytes // 1000:,} kB")
    number, facts = f"#{entry.index}", "  ".join(rest)
    if not colour:
        return f"{number} {who}  {facts}"
    role = _ROLE_COLOURS.get(string(entry.value.get("role")), "")
    return f"{_DIM}{number}{_RESET} {role}{who}{_RESET}  {_DIM}{facts}{_RESET}"


def _body(value: dict[str, Any], full: bool) -> Iterator[str]:
    """The lines below the header, not yet indented."""
    if reasoning := string(value.get("reasoning_content")):
        yield _one_line("thinking: ", reasoning, "", full)
    text = text_of(value, "\n").rstrip("\n")
    if value.get("role") in ("tool", "function"):
        yield from _result_lines(value, text, full)
    elif text:
        yield from visible(text, keep_newlines=True).split("\n")
    for call in all_calls(value):
        yield _one_line(f"→ {visible(_cut(call.name, full))}(", call.arguments, ")", full)


def _cut(name: str, full: bool) -> str:
    return name if full or len(name) <= NAME_LENGTH_MAX else name[:NAME_LENGTH_MAX] + "…"


def _one_line(before: str, text: str, after: str, full: bool) -> str:
    """`text` on one line between `before` and `after`, cut to the length of a call."""
    room = max(CALL_LENGTH_MAX - len(before) - len(after), 20)
    shown = visible(text if full else text[: room + 1])
    if full or len(shown) <= room:
        return before + shown + after
    kept = min(room, len(text))
    # An escape is longer than what it stands for.
    while len(visible(text[:kept])) > room:
        kept -= 1
    return f"{before}{visible(text[:kept])}… +{_counted(len(text) - kept, 'character')}{after}"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _result_lines(value: dict[str, Any], text: str, full: bool) -> Iterator[str]:
    name = tool_name(value) or string(value.get("tool_call_id"))
    kept = text
    if not full:
        kept = "\n".join(text[:RESULT_LENGTH_MAX].split("\n")[:RESULT_LINES_MAX])
    first, *others = visible(kept, keep_newlines=True).split("\n")
    yield f"← {visible(name)}: {first}".rstrip()
    yield from others
    hidden = text[len(kept) :]
    lines = hidden.count("\n")
    said = _counted(lines, "line")
    if hidden.startswith("\n"):
        yield f"… +{said}"
    elif hidden:
        yield f"… +{_counted(len(hidden), 'character')}" + (f", {said}" if lines else "")
