"""Excerpts made visible: every byte that would not be seen is an escape, long runs are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.cli.cells import width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.ops.excerpts import Excerpt

#: So many of the same escape in a row are written out; more are counted.
_RUN_MAX = 4
_SHORT = {0x00: "\\0", 0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}
#: In the room of a line, what stands in front of the wrong place gets this share at most.
_SHARE_BEFORE = 0.4


class View(NamedTuple):
    """Visible text in front of the wrong place, in it, and behind; `marks`: there is such a place."""

    before: str
    wrong: str
    behind: str
    marks: bool

    @property
    def caret(self) -> str:
        """The line to put below, with carets under the wrong place; "" if there is none."""
        return " " * width(self.before) + "^" * max(1, width(self.wrong)) if self.marks else ""


def view(excerpt: Excerpt, columns: int) -> View:
    """As much of an excerpt as fits in so many columns; `…` stands where the line goes on."""
    wrong = _units(excerpt.wrong)
    if excerpt.wrong_bytes > len(excerpt.wrong):
        wrong = [_run("\\0", excerpt.wrong_bytes)] if not excerpt.wrong.strip(b"\0") else [*wrong, "…"]
    wrong = _fitting(wrong, columns // 2, False)
    room = max(0, columns - width("".join(wrong)))
    before_units, behind_units = _units(excerpt.before), _units(excerpt.behind)
    behind_width = width("".join(behind_units)) + excerpt.more_behind
    # What one side does not need, the other may have.
    before_room = max(int(room * _SHARE_BEFORE), room - behind_width)
    before = _fitting(before_units[::-1], before_room, excerpt.more_before)[::-1]
    behind = _fitting(behind_units, room - width("".join(before)), excerpt.more_behind)
    return View("".join(before), "".join(wrong), "".join(behind), excerpt.marks)


def seen(data: bytes) -> str:
    """Bytes as visible text: what is no UTF-8 is `\\xHH`, long runs of one escape are `⟨\\0 × 200⟩`."""
    return "".join(_units(data))


def _fitting(units: list[str], columns: int, goes_on: bool) -> list[str]:
    """The first units that fit, with `…` behind them where something is left out."""
    used = 0
    kept: list[str] = []
    for number, unit in enumerate(units):
        size = width(unit)
        is_last = number == len(units) - 1 and not goes_on
        if used + size + (0 if is_last else 1) > columns:
            return [*kept, "…"] if columns else []
        kept.append(unit)
        used += size
    return [*kept, "…"] if goes_on and columns else kept


def _units(data: bytes) -> list[str]:
    """What is seen of bytes, one text for each character, escape or run."""
    units: list[str] = []
    for escape, text, number in _runs(data.decode("utf-8", "surrogateescape")):
        if not escape:
            units.append(text)
        elif number > _RUN_MAX:
            units.append(_run(text, number))
        else:
            units += [text] * number
    return units


def _runs(text: str) -> Iterator[tuple[bool, str, int]]:
    """Each character as it is seen, whether it is an escape, and how many of one escape follow each other."""
    last, number = "", 0
    for place, char in enumerate(text):
        # A mark that would stand on the character in front of the text is not seen as a part of it.
        shown = _escape(char) or ("" if place or width(char) else _named(char))
        if shown != last and last:
            yield True, last, number
            last, number = "", 0
        if shown:
            last, number = shown, number + 1
        else:
            yield False, char, 1
    if last:
        yield True, last, number


def _run(text: str, number: int) -> str:
    return f"⟨{text} × {number:,}⟩"


def _escape(char: str) -> str:
    """The escape of a character that is not seen, "" of another."""
    code = ord(char)
    if char.isprintable() and not _is_selector(code):
        return ""
    if code in _SHORT:
        return _SHORT[code]
    if 0xDC80 <= code < 0xDD00:
        return f"\\x{code - 0xDC00:02x}"
    return _named(char)


def _named(char: str) -> str:
    """A character as the escape of its number."""
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_selector(code: int) -> bool:
    """Variation selectors change how wide the character in front of them is, on some terminals."""
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
