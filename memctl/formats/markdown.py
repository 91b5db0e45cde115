"""A log as Markdown: a heading a message, its text as the Markdown it is, calls and results in fences.

Message text is printed as it is, except that it cannot become HTML, pass for one of our headings, or keep
a fence open over what follows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core.visible import visible
from memctl.formats.chat import string, text_of, tool_name
from memctl.formats.text import all_calls, markers, short_time, speaker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.formats.text import Entry

_PUNCTUATION = {ord(character): "\\" + character for character in "\\`*_[]<~|&"}
_FENCES = ("```", "~~~")
#: What can stand before a fence inside a list or a quotation, or indent it.
_CONTAINER_CHARACTERS = " \t>-+*.)0123456789"


def log_markdown(entries: Iterable[Entry]) -> Iterator[str]:
    """One block a message, headed `## INDEX · role (name) · time · id`; a block ends with an empty line."""
    for entry in entries:
        value = entry.value
        role = string(value.get("role"))
        names = [speaker(value), short_time(entry.created_at), visible(entry.id), *markers(value)]
        paragraphs = [" · ".join([f"## {entry.index}", *(_plain(name) for name in names if name)])]
        if reasoning := string(value.get("reasoning_content")):
            paragraphs += ["*thinking*", _fenced(reasoning, "text")]
        text = text_of(value, "\n\n").replace("\r\n", "\n")
        if role in ("tool", "function"):
            name = tool_name(value) or string(value.get("tool_call_id"))
            paragraphs += [f"**← {_plain(visible(name))}**", _fenced(text, "text")]
        elif text.strip():
            paragraphs.append(_safe_text(visible(text, keep_newlines=True).strip("\n")))
        for call in all_calls(value):
            paragraphs += [f"**→ {_plain(visible(call.name))}**", _fenced(call.arguments, "json")]
        yield "\n\n".join(paragraphs) + "\n\n"


def _plain(text: str) -> str:
    """`text` with nothing in it that Markdown would take for markup."""
    return text.translate(_PUNCTUATION)


def _fenced(text: str, language: str) -> str:
    """`text` in a fence that nothing inside it can close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{visible(text, keep_newlines=True)}\n{fence}"


def _safe_text(text: str) -> str:
    """Markdown text without HTML, without our headings, and with its fences closed.

    Where fences stand at the left margin it is plain what they hold, and code keeps its `<`. A fence in a
    list or a quotation ends where that ends, which only a whole parser tells: such a text is put into a
    quotation, which closes whatever is open in it, and every `<` is escaped.
    """
    lines = text.split("\n")
    if any(_is_nested_fence(line) for line in lines):
        return "\n".join([f"> {_without_html(line)}".rstrip() for line in lines])
    written = []
    fence = ""
    for line in lines:
        if fence:
            if line.startswith(fence) and not line.strip(fence[0] + " \t"):
                fence = ""
            written.append(line)
            continue
        fence = _opened(line)
        written.append(line if fence else _without_heading(_without_html(line)))
    return "\n".join([*written, fence] if fence else written)


def _opened(line: str) -> str:
    """The fence that `line` opens at the left margin, or nothing."""
    if not line.startswith(_FENCES):
        return ""
    info = line.lstrip(line[0])
    # Backticks after the fence make it a code span.
    if line[0] == "`" and "`" in info:
        return ""
    return line[: len(line) - len(info)]


def _is_nested_fence(line: str) -> bool:
    stripped = line.lstrip(_CONTAINER_CHARACTERS)
    return stripped != line and stripped.startswith(_FENCES)


def _without_html(line: str) -> str:
    """`<` escaped where HTML or an automatic link could begin."""
    if "<" not in line:
        return line
    head, *pieces = line.split("<")
    return head + "".join([("&lt;" if _is_tag_start(piece) else "<") + piece for piece in pieces])


def _is_tag_start(after: str) -> bool:
    return after[:1].isalpha() or after[:1] in ("/", "!", "?")


def _without_heading(line: str) -> str:
    """A line that looks like one of our headings, escaped."""
    stripped = line.lstrip(" ")
    number, dot, _ = stripped.removeprefix("## ").partition(" · ")
    if stripped.startswith("## ") and dot and number.strip().isdecimal():
        return line[: len(line) - len(stripped)] + "\\" + stripped
    return line
