"""Seeded logs that hold what real conversation files hold, damage included.

A log is a list of stored lines without their LF, all of them terminated. What is damaged is damaged beyond
recovery: no line here could be served in a better form than it is stored in.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any, NamedTuple

LONGEST_LOG = 40
LARGE_BYTES = 2_000
"""With the trait `newest-above-budget` the newest group has at least this many bytes of content; without it
no message has more than a tenth of it."""

TRAITS = (
    "parallel-calls",
    "ids-used-again",
    "open-call",
    "orphan",
    "damaged",
    "summary-with-covers",
    "summary-without-covers",
    "newest-above-budget",
)

_WORDS = (
    "sea",
    "harbour",
    "ναύς",
    "日本語",
    "мост",
    "🙂",
    "naïve",
    "x < y & z",
    'a "b" \\ c',
    "line\nbreak",
    "tab\t",
    "42",
)
_DAMAGED = (
    b'{"role":"user","content":"cut he',
    b'{"role":"assistant","content":"","tool_calls":[{"id":"c1","ty',
    b'{"role":"user","con{"role":"assistant","content":"ztent":"hi","extra":{"n":1}',
    b"not json at all",
    b"}{",
    b"null",
    b"42",
    b'"hi"',
    b"{}",
    b'[{"role":"user","content":"in array"}]',
    b'{"type":"brand_new_event","payload":{"k":[1,2]}}',
    b'{"role":7,"content":"a role is a text"}',
)
_BLANK = (b"", b" ", b"\t  ")
_SUMMARY, _INCOMPLETE, _EPHEMERAL = (
    f"__eino_ext_memory_{name}" for name in ("summary", "incomplete", "ephemeral")
)


class Log(NamedTuple):
    """Stored lines without LF, and what is known to be among them (`TRAITS` and finer words)."""

    lines: list[bytes]
    traits: frozenset[str]


def make(seed: int) -> Log:
    """The log of this seed: 0 to `LONGEST_LOG` lines."""
    return _Writer(random.Random(f"log {seed}")).write()


def damage(lines: list[bytes], seed: int) -> list[bytes]:
    """The lines after one to three deletions, insertions or changes by another program; the rest is kept."""
    rng = random.Random(f"damage {seed}")
    edited = list(lines)
    for _ in range(rng.choice((1, 1, 2, 3))):
        edit = rng.choice(("delete", "insert", "change")) if edited else "insert"
        at = rng.randrange(len(edited) + (edit == "insert"))
        other = {
            "role": rng.choice(("user", "assistant")),
            "content": f"by another program {rng.getrandbits(40)}",
        }
        piece = rng.choice((_encode(rng, other), _encode(rng, other), rng.choice(_DAMAGED)))
        if edit == "insert":
            edited.insert(at, rng.choice((piece, piece, rng.choice(_BLANK))))
        elif edit == "change":
            edited[at] = piece if piece != edited[at] else b"changed"
        else:
            del edited[at]
    return edited if edited != lines else [*lines, b"put in"]


def fingerprint(text: bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of `text`, as in `covers`."""
    return hashlib.sha256(text).hexdigest()[:16]


def _encode(rng: random.Random, message: dict[str, Any]) -> bytes:
    """One line in one of the forms that writers of JSON lines use."""
    items = list(message.items())
    if rng.random() < 0.2:
        rng.shuffle(items)
    separators = (", ", ": ") if rng.random() < 0.1 else (",", ":")
    return json.dumps(dict(items), ensure_ascii=rng.random() < 0.15, separators=separators).encode()


class _Writer:
    """Writes one log; each `_add_*` method adds one thing of the kind that its name says."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[bytes] = []
        self.messages: list[bytes] = []
        self.starts: list[int] = []
        self.boundary = 0
        self.call_ids: list[str] = []
        self.traits: set[str] = set()
        # Not every log has everything: most have a handful of kinds, some are clean.
        self.likelihood = rng.choice((0.0, 0.35, 0.35, 0.6, 0.9))

    def write(self) -> Log:
        rng = self.rng
        length = rng.choice((0, 1, 2, 3, *range(4, LONGEST_LOG + 1)))
        ends_large = rng.random() < 0.25 and length > 4
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            self._add_head(length)
        kinds = [(self._add_user, 22), (self._add_answer, 20), (self._add_calls, 16)]
        odd = [
            (self._add_orphan, 5),
            (self._add_damaged, 5),
            (self._add_blank, 3),
            (self._add_ephemeral, 4),
            (self._add_empty, 4),
            (self._add_unknown_role, 4),
            (self._add_later_system, 3),
            (self._add_function, 2),
            (self._add_summary_with_covers, 9),
            (self._add_summary_without_covers, 4),
        ]
        kinds += [kind for kind in odd if rng.random() < self.likelihood]
        methods, weights = zip(*kinds, strict=True)
        while len(self.lines) < length - 4 * ends_large:
            rng.choices(methods, weights)[0]()
        if ends_large and self.room >= 4:
            self._add_large()
        return Log(self.lines[:LONGEST_LOG], frozenset(self.traits))

    @property
    def room(self) -> int:
        return LONGEST_LOG - len(self.lines)

    def _line(self, message: dict[str, Any], *, starts_group: bool = True) -> None:
        """Appends a message; sometimes with an id of its own, as memctl writes them."""
        extra = dict(message.pop("extra", {}))
        if self.rng.random() < 0.4:
            extra["memctl"] = {"id": f"{self.rng.getrandbits(64):016x}", **extra.get("memctl", {})}
        if extra or self.rng.random() < 0.03:
            message["extra"] = extra
        line = _encode(self.rng, message)
        if starts_group:
            self.starts.append(len(self.messages))
        self.lines.append(line)
        self.messages.append(line)

    def _text(self) -> str:
        rng = self.rng
        return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 6))) + f" {len(self.lines)}"

    def _content(self) -> Any:
        """A text, or (one time in ten) a list with a text and sometimes a picture."""
        if self.rng.random() > 0.1:
            return self._text()
        self.traits.add("content-list")
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        return [{"type": "text", "text": self._text()}, *([picture] if self.rng.random() < 0.5 else [])]

    def _incomplete(self) -> dict[str, Any]:
        if self.rng.random() > 0.2 * self.likelihood:
            # Looks like the marker and is none: only JSON true marks.
            return (
                {"extra": {_INCOMPLETE: self.rng.choice(("true", 1, False))}}
                if self.rng.random() < 0.03
                else {}
            )
        self.traits.add("incomplete")
        return {"extra": {_INCOMPLETE: True}}

    def _add_head(self, length: int) -> None:
        if len(self.lines) < length:
            self._line({"role": self.rng.choice(("system", "developer")), "content": self._text()})

    def _add_user(self) -> None:
        named = {"name": "Zoë"} if self.rng.random() < 0.1 else {}
        marked = self._incomplete() if self.rng.random() < 0.2 else {}
        self._line({"role": "user", "content": self._content(), **named, **marked})

    def _add_answer(self) -> None:
        thinking = {"reasoning_content": self._text()} if self.rng.random() < 0.1 else {}
        if self.rng.random() < 0.08:
            part = {"type": "text", "text": self._text()}
            message = {"role": "assistant", "content": "", "assistant_output_multi_content": [part]}
        else:
            message = {"role": "assistant", "content": self._content()}
        self._line({**message, **thinking, **self._incomplete()})

    def _add_calls(self) -> None:
        """A call message and its run of results, in any order, with what may stand between or be wrong."""
        rng = self.rng
        count = min(rng.choice((1, 1, 2, 3)), max(self.room - 1, 1))
        ids = [self._call_id() for _ in range(count)]
        ids = [
            call_id if call_id not in ids[:n] else f"n{len(self.lines)}-{n}" for n, call_id in enumerate(ids)
        ]
        if count > 1:
            self.traits.add("parallel-calls")
        odd = rng.random() < 0.3 * self.likelihood
        written = [
            rng.choice(("", None, ids[0])) if odd and n == count - 1 else call_id
            for n, call_id in enumerate(ids)
        ]
        broken = odd and written != ids
        if set(written) & set(self.call_ids):
            self.traits.add("ids-used-again")
        calls = [
            {**({} if call_id is None else {"id": call_id}), "type": "function", "function": self._function()}
            for call_id in written
        ]
        content = rng.choice(("", None, self._text()))
        self._line({"role": "assistant", "content": content, "tool_calls": calls, **self._incomplete()})
        self.call_ids += filter(None, written)
        answered = rng.sample(ids, count)
        if rng.random() < 0.25 * self.likelihood or self.room < count:
            answered = answered[: min(rng.randrange(count), self.room)]
            broken = True
        for call_id in answered:
            if self.room > count and rng.random() < 0.15 * self.likelihood:
                rng.choice(
                    (self._add_blank, self._add_damaged, self._add_ephemeral, self._add_summary_with_covers)
                )()
            if self.room:
                self._add_result(call_id)
            else:
                broken = True
        if answered and self.room and rng.random() < 0.15 * self.likelihood:
            self.traits.add("duplicate-result")
            self._add_result(answered[0])
        if broken:
            self.traits.add("open-call")

    def _call_id(self) -> str:
        if self.call_ids and self.rng.random() < 0.3:
            return self.rng.choice(self.call_ids)
        return f"c{len(self.call_ids)}-{self.rng.getrandbits(16):04x}"

    def _function(self) -> dict[str, str]:
        return {"name": "lookup", "arguments": json.dumps({"q": self._text()}, ensure_ascii=False)}

    def _add_result(self, call_id: str) -> None:
        message = {"role": "tool", "content": self._text(), "tool_call_id": call_id}
        self._line({**message, **({"name": "lookup"} if self.rng.random() < 0.5 else {})}, starts_group=False)

    def _add_orphan(self) -> None:
        """A result that nobody asked for, after a message that no result can follow."""
        if self.room < 2:
            return self._add_blank()
        self._add_user()
        self.traits.add("orphan")
        if self.rng.random() < 0.2:
            return self._line({"role": "tool", "content": "no id at all"}, starts_group=False)
        return self._add_result(self.rng.choice(["x9", *self.call_ids]))

    def _add_damaged(self) -> None:
        self.traits.add("damaged")
        self.lines.append(self.rng.choice(_DAMAGED))

    def _add_blank(self) -> None:
        self.traits.add("blank-line")
        self.lines.append(self.rng.choice(_BLANK))

    def _add_ephemeral(self) -> None:
        role = self.rng.choice(("assistant", "assistant", "user", "system", "tool"))
        # An ephemeral summary is shown once and stored by mistake: it hides nothing.
        marks = {_EPHEMERAL: True, **({_SUMMARY: True} if self.rng.random() < 0.1 else {})}
        self._line({"role": role, "content": self._text(), "extra": marks}, starts_group=False)
        self.traits.add("ephemeral")

    def _add_empty(self) -> None:
        thinking = {"reasoning_content": "hm"} if self.rng.random() < 0.3 else {}
        content = self.rng.choice(("", None, " \n", [], [{"type": "text", "text": " "}]))
        self._line({"role": "assistant", "content": content, **thinking}, starts_group=False)
        self.traits.add("empty")

    def _add_unknown_role(self) -> None:
        role = self.rng.choice(("critic", "User", ""))
        self._line({"role": role, "content": self._text()}, starts_group=False)
        self.traits.add("unknown-role")

    def _add_later_system(self) -> None:
        self._line({"role": self.rng.choice(("system", "developer")), "content": self._text()})

    def _add_function(self) -> None:
        self._line({"role": "function", "name": "lookup", "content": self._text()})

    def _add_summary_without_covers(self) -> None:
        role = self.rng.choice(("assistant", "assistant", "user", "system"))
        self.boundary = len(self.messages)
        self._line({"role": role, "content": self._text(), "extra": {_SUMMARY: True}}, starts_group=False)
        self.traits.add("summary-without-covers")

    def _add_summary_with_covers(self) -> None:
        """A summary as condense writes it: it covers up to the start of a group, sometimes wrongly said."""
        rng, own = self.rng, len(self.messages)
        allowed = [start for start in self.starts if start >= self.boundary] + [own]
        place = rng.choice(allowed) if rng.random() < 0.9 else rng.randint(min(self.boundary, own), own)
        last = fingerprint(b"\n".join(self.messages[max(place - 3, 0) : place]))
        after = fingerprint(b"\n".join(self.messages[place : place + 3]))
        covers: Any = {"kept": own - place, "last": last, "next": after}
        self.traits.add("summary-with-covers")
        if rng.random() < 0.2:
            self.traits.add("stale-covers")
            wrong = {"kept": covers["kept"] + rng.choice((1, 2, 50)), "last": "0" * 16, "next": "f" * 16}
            stale = [{**covers, key: wrong[key]} for key in wrong]
            malformed: list[Any] = [
                None,
                [],
                {**covers, "kept": str(own - place)},
                {**covers, "kept": -1},
                {"kept": 0, "last": last},
            ]
            covers = rng.choice([*stale, *stale, wrong, *malformed])
        else:
            self.boundary = place
        extra = {_SUMMARY: True, "memctl": {"covers": covers}}
        self._line({"role": "assistant", "content": self._text(), "extra": extra}, starts_group=False)

    def _add_large(self) -> None:
        """The newest group, larger than any budget that is tight for the rest."""
        self.traits.add("newest-above-budget")
        text = "long " * (LARGE_BYTES // 5 + self.rng.randrange(200))
        kind = self.rng.choice(("user", "assistant", "tool"))
        if self.rng.random() < 0.7 and kind != "user":
            self._add_user()
        if kind != "tool":
            return self._line({"role": kind, "content": text})
        call_id = f"large-{len(self.lines)}"
        call = {"id": call_id, "type": "function", "function": self._function()}
        self._line({"role": "assistant", "content": "", "tool_calls": [call]})
        return self._line({"role": "tool", "content": text, "tool_call_id": call_id}, starts_group=False)
