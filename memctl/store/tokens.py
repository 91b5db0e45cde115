"""Token counts, equal to tiktoken's; the only door to tiktoken.

Two engines, chosen by the amount of text. tiktoken is fast but takes half a second to load. The mapped
engine opens in a few milliseconds: it cuts a text into pre-tokens with `re` and merges their bytes by the
ranks of a table in the cache directory (`vocabulary`). What it cannot know, the class of a character that
is not in this Python's Unicode tables, it asks tiktoken; what would take it long, many merges, it leaves to
tiktoken.

tiktoken is handed the shipped vocabulary in memory. Its own loader, which would download what it does not
find, is never called, and its cache directory plays no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.errors import MemctlError, Unavailable, UsageError
from memctl.store import vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import tiktoken

NAMES = ("o200k_base", "cl100k_base")

#: A call with more text than this is tiktoken's. Its load costs as much time as some 2,000,000 characters of
#: prose in the mapped engine; text that repeats fewer words costs more.
_MAPPED_MAX_CHARS = 600_000
#: Merging a pre-token of n bytes takes about n² + 300 n units of 10 ns. This many take about half as long as
#: loading tiktoken; what is then left to merge is tiktoken's.
_MERGE_BUDGET = 15_000_000
#: Pre-tokens and ranks that one counter remembers before it starts anew.
_REMEMBERED_MAX = 200_000
#: tiktoken's pattern engine fails on a million blanks in a row. Every run of twice this length holds an
#: aligned block of this length; a text with such a block is cut into pre-tokens here.
_BLOCK_CHARS = 1 << 16
#: tiktoken takes a second for a million characters that are one pre-token. A text or pre-token with at most
#: this many different characters, or pairs of neighbours, may be a repetition that is merged faster here.
_UNIFORM_MAX_KINDS = 12
#: Shorter pre-tokens are merged pair by pair.
_REPETITION_MIN_BYTES = 2_000

# Classes of characters, each written as one character that stands for all of its class; ASCII characters
# stand for themselves. U+00AA is a letter that counts as upper and lower case (Lm, Lo), U+0080 a mark.
_LETTER = r"A-Za-z\xaa"
_UPPER = r"A-Z\xaa\x80"
_LOWER = r"a-z\xaa\x80"
_BLANK = r"\t-\r "
_ENDING = r"'(?:[sStTmMdD]|[lL][lL]|[vV][eE]|[rR][eE])"
_CLASS_OF_CATEGORY = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": "\xaa", "Lo": "\xaa", "M": "\x80", "N": "0"}
_OTHER = "!"

#: tiktoken's patterns over those classes: every `\p{L}`, `\p{M}`, `\p{N}`, `\s` replaced, nothing else.
_PATTERNS = {
    "o200k_base": "|".join(
        (
            rf"[^\r\n0-9{_LETTER}]?[{_UPPER}]*[{_LOWER}]+(?:{_ENDING})?",
            rf"[^\r\n0-9{_LETTER}]?[{_UPPER}]+[{_LOWER}]*(?:{_ENDING})?",
            r"[0-9]{1,3}",
            rf" ?[^{_BLANK}0-9{_LETTER}]+[\r\n/]*",
            rf"[{_BLANK}]*[\r\n]+",
            rf"[{_BLANK}]+(?![^{_BLANK}])",
            rf"[{_BLANK}]+",
        )
    ),
    "cl100k_base": "|".join(
        (
            _ENDING,
            rf"[^\r\n0-9{_LETTER}]?+[{_LETTER}]++",
            r"[0-9]{1,3}+",
            rf" ?[^{_BLANK}0-9{_LETTER}]++[\r\n]*+",
            rf"[{_BLANK}]++\Z",
            rf"[{_BLANK}]*[\r\n]",
            rf"[{_BLANK}]+(?![^{_BLANK}])",
            rf"[{_BLANK}]",
        )
    ),
}


class Tokenizer:
    """Counts tokens of one vocabulary; cheap to make, loads what it needs when it counts.

    `cache_dir` is a directory for the laid-out table; it is created when missing. None, or a directory
    that cannot be written, only costs time. Raises UsageError for a name that is not in `NAMES`.
    """

    def __init__(self, name: str, cache_dir: str | None) -> None:
        if name not in NAMES:
            raise UsageError(f"unknown tokenizer {name!r}", hint=f"there are {' and '.join(NAMES)}")
        from _thread import allocate_lock

        self._name = name
        self._cache_dir = cache_dir
        self._lock = allocate_lock()
        self._cutter: _Cutter | None = None
        self._merger: _Merger | None = None
        self._encoding: tiktoken.Encoding | None = None

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text.

        Special tokens count as plain text, lone surrogates as U+FFFD. May be called from several threads.
        Raises Unavailable if the vocabulary is missing or not the one that tiktoken expects.
        """
        with self._lock:
            if self._cutter is None:
                self._cutter = _Cutter(self._name)
            uniform = list(map(_is_uniform, texts))
            if (
                sum(len(text) for text, alike in zip(texts, uniform, strict=True) if not alike)
                > _MAPPED_MAX_CHARS
            ):
                self._load_encoding()
            merger = self._load_merger()
            counts = []
            for text, alike in zip(texts, uniform, strict=True):
                if self._encoding is None or alike:
                    counts.append(sum(map(merger.__getitem__, self._cutter.cut(text))))
                else:
                    counts.append(len(self._encoding.encode_ordinary(text)))
            return counts

    def _load_merger(self) -> _Merger:
        if self._merger is None:
            path = vocabulary.table_path(self._cache_dir, self._name) if self._cache_dir else ""
            ranks: vocabulary.Ranks | None = vocabulary.open_table(path, self._name) if path else None
            if ranks is None:
                ranks = _read_encoding_arguments(self._name)["mergeable_ranks"]
                if path:
                    try:
                        vocabulary.lay_out(path, self._name, ranks)
                    except (OSError, MemctlError):
                        # A cache that cannot be written costs the next process the same time, no more.
                        pass
            self._merger = _Merger(ranks, _MERGE_BUDGET, self._merge_by_tiktoken)
        return self._merger

    def _load_encoding(self) -> tiktoken.Encoding:
        if self._encoding is None:
            from tiktoken import Encoding

            arguments = _read_encoding_arguments(self._name)
            self._encoding = Encoding(**arguments)
            self._merger = _Merger(arguments["mergeable_ranks"], 0, self._merge_by_tiktoken)
        return self._encoding

    def _merge_by_tiktoken(self, pretoken: str) -> int:
        return len(self._load_encoding()._encode_single_piece(pretoken))


def _is_uniform(text: str) -> bool:
    """Tell whether tiktoken's pattern engine may fail on `text` or its merging take long; for long texts."""
    step = _BLOCK_CHARS
    return len(text) >= step and (
        # Most texts show in their first block that they are not.
        (len(set(text[:step])) <= _UNIFORM_MAX_KINDS and len(set(text)) <= _UNIFORM_MAX_KINDS)
        or any(text[at : at + step].isspace() for at in range(0, len(text) - step + 1, step))
    )


class _Merger(dict[str, int]):
    """Pre-token → number of tokens, found by merging bytes when it is asked for the first time.

    Takes tokens' `ranks`, and units of merging that it may spend before it leaves merging to tiktoken.
    """

    def __init__(self, ranks: vocabulary.Ranks, budget: int, merge_by_tiktoken: Callable[[str], int]) -> None:
        super().__init__()
        self._ranks = ranks
        self._merge_by_tiktoken = merge_by_tiktoken
        self._budget = budget

    def __missing__(self, pretoken: str) -> int:
        piece = pretoken.encode()
        if len(piece) == 1 or self._ranks[piece] != vocabulary.NO_RANK:
            count = 1
        else:
            count = self._count_merged(pretoken, piece)
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        self[pretoken] = count
        return count

    def _count_merged(self, pretoken: str, piece: bytes) -> int:
        size = len(piece)
        if size >= _REPETITION_MIN_BYTES:
            count = _merge_repetition(piece, self._ranks)
            if count is not None:
                return count
        cost = size * (size + 300)
        if cost > self._budget:
            return self._merge_by_tiktoken(pretoken)
        self._budget -= cost
        return _merge(piece, self._ranks)


def _merge(piece: bytes, ranks: vocabulary.Ranks) -> int:
    """Return how many tokens are left when no two neighbours of `piece` can be merged.

    Always the pair of the lowest rank is merged, of equal ranks the leftmost: the rule of tiktoken.
    """
    none = vocabulary.NO_RANK
    size = len(piece)
    # Token i is piece[starts[i]:starts[i + 1]]; pairs[i] is the rank of tokens i and i + 1 together.
    starts = list(range(size + 1))
    pairs = [ranks[piece[at : at + 2]] for at in range(size - 1)]
    while pairs and (lowest := min(pairs)) != none:
        at = pairs.index(lowest)
        del starts[at + 1], pairs[at]
        if at < len(pairs):
            pairs[at] = ranks[piece[starts[at] : starts[at + 2]]]
        if at:
            pairs[at - 1] = ranks[piece[starts[at - 1] : starts[at + 1]]]
    return len(starts) - 1


def _merge_repetition(piece: bytes, ranks: vocabulary.Ranks) -> int | None:
    """Return what `_merge` returns, in time linear in the length; None if `piece` does not repeat itself.

    All pairs of the lowest rank are merged at once, from left to right. That is the rule of `_merge` as long
    as no merge makes a lower rank: then only pairs of this one kind are merged until none is left. Where a
    lower rank might be made, or two kinds of pairs have the same rank, the answer is None.
    """
    # Each character of `text` is a token, each two neighbours are a pair, and these are the bytes of both.
    text = piece.decode("latin-1")
    alphabet = {chr(byte): bytes((byte,)) for byte in set(piece)}
    if len(alphabet) > _UNIFORM_MAX_KINDS:
        return None
    pairs = {left + right for left in alphabet for right in alphabet}
    unused = 256
    while True:
        pairs = {pair for pair in pairs if pair in text}
        alphabet = {token: alphabet[token] for token in set("".join(pairs))}
        if len(pairs) > _UNIFORM_MAX_KINDS:
            return None
        ranked = sorted((ranks[alphabet[pair[0]] + alphabet[pair[1]]], pair) for pair in pairs)
        if not ranked or ranked[0][0] == vocabulary.NO_RANK:
            return len(text)
        lowest, pair = ranked[0]
        if len(ranked) > 1 and ranked[1][0] == lowest:
            return None
        token, written = chr(unused), alphabet[pair[0]] + alphabet[pair[1]]
        unused += 1
        alphabet[token] = written
        if any(
            ranks[written + other] < lowest or ranks[other + written] < lowest for other in alphabet.values()
        ):
            return None
        text = text.replace(pair, token)
        pairs |= {token + other for other in alphabet} | {other + token for other in alphabet}


class _Cutter:
    """Cuts texts into pre-tokens as tiktoken's pattern of one vocabulary does."""

    def __init__(self, name: str) -> None:
        import re

        self._compiled = re.compile(_PATTERNS[name])
        self._classes = _Classes()

    def cut(self, text: str) -> Iterable[str]:
        """Return the pre-tokens of `text`, whole and in order, with U+FFFD for lone surrogates."""
        if text.isascii():
            return self._compiled.findall(text)
        try:
            classes = text.translate(self._classes)
        except _SurrogateError:
            # tiktoken's own way: a high and a low surrogate side by side are one character.
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            classes = text.translate(self._classes)
        start = 0
        pretokens = []
        for pretoken in self._compiled.findall(classes):
            end = start + len(pretoken)
            pretokens.append(text[start:end])
            start = end
        return pretokens


class _SurrogateError(Exception):
    """Half of a character that UTF-8 cannot write."""


class _Classes(dict[int, str]):
    """Code point → the character that stands for its class, for `str.translate`."""

    def __init__(self) -> None:
        super().__init__((code, chr(code)) for code in range(128))
        # The pattern's ending 's is case-insensitive by Unicode: a long s is an s.
        self[0x17F] = "s"

    def __missing__(self, code: int) -> str:
        if 0xD800 <= code <= 0xDFFF:
            raise _SurrogateError
        character = chr(code)
        self[code] = found = _class_by_python(character) or _class_by_tiktoken(character)
        return found


def _class_by_python(character: str) -> str | None:
    """Return the class of a character beyond ASCII if all Unicode tables since 15.0 agree on it."""
    import unicodedata

    if character.isspace():
        return "\t"
    category = unicodedata.category(character)
    if category == "Cn":
        # Not assigned yet. The blocks of pictographs will hold nothing else.
        return _OTHER if "\U0001f300" <= character <= "\U0001faff" else None
    found = _CLASS_OF_CATEGORY.get(category) or _CLASS_OF_CATEGORY.get(category[0], _OTHER)
    if (
        found == _OTHER  # A table that does not know the character yet says the same.
        or unicodedata.unidata_version in ("14.0.0", "15.0.0")
        or unicodedata.ucd_3_2_0.category(character) == category
    ):
        return found
    return None


def _class_by_tiktoken(character: str) -> str:
    """Return the class of a character by the Unicode table that is built into tiktoken."""
    from tiktoken import Encoding

    alphabet = {bytes((byte,)): byte for byte in range(256)}
    for category, found in _CLASS_OF_CATEGORY.items():
        # What the pattern does not match gives no tokens.
        probe = Encoding(category, pat_str=rf"\p{{{category}}}", mergeable_ranks=alphabet, special_tokens={})
        if probe.encode_ordinary(character):
            return found
    return _OTHER


def _read_encoding_arguments(name: str) -> dict[str, Any]:
    """Return the arguments of `tiktoken.Encoding` for a vocabulary, its ranks those of the shipped file.

    They come from tiktoken's own definition, which is run with a loader of ours: it takes the expected
    SHA-256 from there, and nothing in the definition's reach can open a connection.
    """
    from types import FunctionType

    from tiktoken_ext import openai_public  # type: ignore[import-untyped]

    names: dict[str, object] = {
        key: value for key, value in vars(openai_public).items() if isinstance(value, str)
    }

    def load_shipped(url: str, expected_hash: str) -> vocabulary.Ranks:
        return vocabulary.read_shipped(name, expected_hash)

    names["load_tiktoken_bpe"] = load_shipped
    try:
        definition = openai_public.ENCODING_CONSTRUCTORS[name]
        arguments: dict[str, Any] = FunctionType(definition.__code__, names)()
        ranks = arguments["mergeable_ranks"]
    except (LookupError, AttributeError, NameError, TypeError) as error:
        raise Unavailable(f"vocabulary {name}: this version of tiktoken defines it in another way") from error
    if not isinstance(ranks, vocabulary.Ranks):
        raise Unavailable(f"vocabulary {name}: this version of tiktoken defines it in another way")
    return arguments
