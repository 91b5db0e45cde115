"""The words of a text as they are indexed, and those of a query as they are looked for.

The index splits a text at ASCII characters that are neither letters nor digits, and stems what is between.
Text beyond ASCII is prepared for it: folded, punctuation made blanks; scripts that are written without
spaces, and Korean, whose particles cling to the word, are cut into pairs of neighbouring characters and
single ones.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import NamedTuple

from memctl.core.relevance.corpus import QUESTION
from memctl.core.relevance.english import CLITICS, STOP, forms
from memctl.core.relevance.folding import fold, fold_run

SINGLE = 0.3  # what a single character of a longer run counts in a query
#: Characters that count as a word when a text is measured, the blank included.
WORD = 6

# Han, kana, Thai, Lao, Tibetan, Burmese, Khmer; and Hangul, apart.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u104f\u1780-\u17d3\u3005-\u3007\u3041-\u3096"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\uac00-\ud7af"
# Vowel signs of the Indic scripts are letters for us, though no `\w`.
_INDIC = "\u0900-\u0963\u0966-\u0df3"
# An underscore parts words, as all other signs of ASCII do.
_ALPHABET = rf"(?:(?![{_UNSPACED}{_HANGUL}_])[\w{_INDIC}])"
_ODD = re.compile("[^\x00-\x7f]+")
_PLAIN_WORDS = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
# `c++` and `c#` are names: they are indexed once more, with these signs, which no folded text has.
_MARKED = re.compile(r"(?<![A-Za-z0-9])([A-Za-z0-9]{1,16})(\+\+|#)(?![A-Za-z0-9])")
_MARKS = {"++": "\uff0b\uff0b", "#": "\uff03"}

# Korean particles: a query of 집에서 also looks for 집.
_PARTICLES = (
    *("에게서", "한테서", "으로는", "에서는", "이라고", "에서", "에게", "한테", "까지", "부터", "처럼"),
    *("보다", "으로", "이랑", "하고", "이나", "은", "는", "이", "가", "을", "를", "의", "에", "도", "로"),
    *("와", "과", "만", "랑", "나"),
)


# The two take 5 ms each to compile, and a query in ASCII over an index that is there needs neither.
@functools.cache
def _pieces() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<hangul>[{_HANGUL}]+)"
        rf"|(?P<word>{_ALPHABET}+(?:'{_ALPHABET}+)*)"
    )


@functools.cache
def _run() -> re.Pattern[str]:
    return re.compile(rf"(?P<cut>[{_UNSPACED}{_HANGUL}]+)|(?P<blank>(?!{_ALPHABET})[^\x00-\x7f])|[^']|'")


class Sought(NamedTuple):
    """What a query looks for at one place of it: any of some words, as the index takes them, and how much."""

    words: tuple[str, ...]
    weight: float = 1.0


def indexed(text: str) -> str:
    """The text as the index takes it; what is plain ASCII stays as it is."""
    if not text.isascii():
        text = _ODD.sub(_segmented_match, text)
    if "++" in text or "#" in text:
        text = _MARKED.sub(lambda match: f"{match[0]} {_with_mark(match)} ", text)
    return text


_known: dict[str, str] = {}


def _segmented_match(match: re.Match[str]) -> str:
    run = match[0]
    found = _known.get(run)
    if found is None:
        found = _segmented(run)
        if len(run) < 4 and len(_known) < 1 << 14:
            _known[run] = found
    return found


def _segmented(run: str) -> str:
    """A run of characters beyond ASCII, folded and cut."""
    return "".join(map(_piece, _run().finditer(fold_run(run))))


def _piece(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "cut":
        return f" {' '.join([*pairs(match[0]), *match[0]])} "
    return match[0] if kind is None else " "


def pairs(run: str) -> list[str]:
    """The pairs of neighbouring characters."""
    return list(map("".join, itertools.pairwise(run)))


def length(indexed_text: str) -> int:
    """About how many words an `indexed` text has: BM25 wants no more, and this costs nothing."""
    return len(indexed_text) // WORD + 1


def asks(indexed_text: str) -> int:
    """QUESTION if a line of an `indexed` text ends with a question mark, else 0."""
    if "?" not in indexed_text:
        return 0
    return QUESTION if any(line.rstrip().endswith("?") for line in indexed_text.split("\n")) else 0


def surface(text: str) -> list[str]:
    """The words of a text, folded, as they are written."""
    return _words(fold(text))


def _words(folded: str) -> list[str]:
    """Words of alphabets."""
    if folded.isascii():
        return _PLAIN_WORDS.findall(folded)
    return [match["word"] for match in _pieces().finditer(folded) if match["word"]]


def _with_mark(match: re.Match[str]) -> str:
    """The token of a name like `c++`."""
    return match[1].lower() + _MARKS[match[2]]


def sought(text: str) -> list[Sought]:
    """What a query looks for, each once: without words that say nothing, unless it has nothing else.

    A run of an unspaced script is looked for by its pairs; its single characters count little beside them.
    """
    folded = fold(text)
    wanted: dict[tuple[str, ...], float] = {}
    spare: dict[tuple[str, ...], float] = {}
    for word in _words(folded):
        kept = spare if word in STOP else wanted
        head, *rest = word.split("'")
        for part in (head, *(part for part in rest if part not in CLITICS)):
            kept.setdefault(forms(part), 1.0)
    for match in _MARKED.finditer(folded):
        wanted.setdefault((_with_mark(match),), 1.0)
    if not folded.isascii():
        for match in _pieces().finditer(folded):
            if not match["word"]:
                for part, weight in _cut(match[0], hangul=match["hangul"] is not None):
                    wanted.setdefault((part,), weight)
    return [Sought(words, weight) for words, weight in (wanted or spare).items()]


def _cut(run: str, *, hangul: bool) -> list[tuple[str, float]]:
    """The tokens of a run without blanks, with their weights."""
    if len(run) == 1:
        return [(run, 1.0)]
    found = [(pair, 1.0) for pair in pairs(run)]
    if hangul:
        return [*found, (run[0], SINGLE)] if run[1:] in _PARTICLES else found
    if len(run) < 9:
        found += [(character, SINGLE) for character in run if character >= "\u3400"]
    return found
