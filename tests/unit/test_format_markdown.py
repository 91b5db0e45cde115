"""A log as Markdown in which messages cannot pass for structure."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memctl.formats.markdown import log_markdown
from memctl.formats.text import Entry

HEAD = "## 3 · user · 2026-03-01 09:00:00 · 0123456789abcdef\n\n"


def entry(value: dict[str, Any], **more: Any) -> Entry:
    given = Entry(3, 4, "0123456789abcdef", "2026-03-01T09:00:00Z", value, 120)
    return given._replace(**more)


def markdown(*entries: Entry) -> str:
    return "".join(log_markdown(entries))


def test_log() -> None:
    """Headings, text as it is, calls and results in fences."""
    call = {"id": "c1", "type": "function", "function": {"name": "read_it", "arguments": '{"a":"```"}'}}
    expected = (
        "## 3 · user (\\_a\\_ \\<b>) · 2026-03-01 09:00:00 · 0123456789abcdef\n\n**hi**\n\n"
        "## 4 · assistant · - · x · \\[summary\\]\n\nsum\n\n"
        "## 5 · assistant · 2026-03-01 09:00:00 · 0123456789abcdef\n\n*thinking*\n\n```text\nhm\n```\n\n"
        '**→ read\\_it**\n\n````json\n{"a":"```"}\n````\n\n'
        "## 6 · tool (read\\_it) · 2026-03-01 09:00:00 · 0123456789abcdef\n\n"
        "**← read\\_it**\n\n```text\n## <b>\\x1b\n```\n\n"
    )
    shown = markdown(
        entry({"role": "user", "name": "_a_ <b>", "content": "**hi**\n"}),
        entry(
            {"role": "assistant", "content": "sum", "extra": {"__eino_ext_memory_summary": True}},
            index=4,
            created_at=None,
            id="x",
        ),
        entry({"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "hm"}, index=5),
        entry({"role": "tool", "tool_name": "read_it", "content": "## <b>\x1b"}, index=6),
    )
    assert expected == shown


@pytest.mark.parametrize(
    ("expected", "content"),
    [
        ("a &lt;script>b&lt;/script> 1 < 2 &lt;!-- <- &lt;?", "a <script>b</script> 1 < 2 <!-- <- <?"),
        ("```html\n<b>\n```\n&lt;b>", "```html\n<b>\n```\n<b>"),
        ("~~~\n<b>\n```\n<i>\n~~~", "~~~\n<b>\n```\n<i>"),
        ("````\n<b>\n```\n<i>\n````", "````\n<b>\n```\n<i>"),
        ("```` `x\n&lt;b>", "```` `x\n<b>"),
        ("```\n<b>\n```", "```\r\n<b>\r\n```"),
        ("> - a\n>   ```\n>   &lt;b>\n>\n> &lt;i>", "- a\n  ```\n  <b>\n\n<i>"),
        ("> 1. ```\n> &lt;b>", "1. ```\n<b>"),
        ("\\## 4 · user · now", "## 4 · user · now"),
        ("## 4 apples\n### 4 · x", "## 4 apples\n### 4 · x"),
        ("\\x1b\\u202e", "\x1b\u202e"),
    ],
)
def test_text(expected: str, content: str) -> None:
    """HTML and our own headings are escaped outside fences, and no fence stays open."""
    assert f"{HEAD}{expected}\n\n" == markdown(entry({"role": "user", "content": content}))


PIECES = st.lists(
    st.sampled_from(
        [
            "```",
            "````",
            "~~~",
            "\n",
            "\n",
            "\n\n",
            "<b>",
            "<!--",
            "> ",
            "- ",
            "1. ",
            "  ",
            "x",
            "`",
            "## 1 · ",
        ]
    )
)


@given(PIECES, st.sampled_from(["user", "tool"]))
def test_messages_stay_apart(pieces: list[str], role: str) -> None:
    """A CommonMark parser finds no HTML, and our headings outside every list, quotation and fence."""
    text = "".join(pieces)
    call = {"role": "assistant", "tool_calls": [{"function": {"name": text, "arguments": text}}]}
    entries = [
        entry({"role": role, "content": text, "name": text}),
        entry(call),
        entry({"role": "user", "content": "end"}),
    ]
    tokens = MarkdownIt("commonmark").parse(markdown(*entries))
    found = [inner.type for token in tokens for inner in (token, *(token.children or ()))]
    assert set() == {"html_block", "html_inline"} & set(found)
    headings = [
        after.content
        for token, after in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    ours = [heading for heading in headings if heading.startswith("3 · ")]
    assert len(entries) == len(ours)
    assert not any(heading.startswith("1 · ") for heading in headings)
