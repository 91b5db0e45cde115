"""What is found, in many scripts, and what never fails."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl.core.relevance.words import indexed, sought
from memctl.store.search import schema
from memctl.store.search.index import matching


def test_case_b77(memory: Any) -> None:
    """Words of two characters, of two scripts, and English ones are found; punctuation finds nothing."""
    memory.add("l1", "資料庫遷移前一定要先備份")
    memory.add("l2", "今天天氣很好")
    memory.add("l3", "issue化してほしい")
    memory.add("l4", "back up before you migrate")
    assert "l1" == memory.found("備份")[0]
    assert "l2" not in memory.found("備份")
    assert "l3" == memory.found("issue化")[0]
    assert "l4" == memory.found("migrate")[0]
    assert [] == memory.found("。")
    assert [] == memory.found("???")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("今天天气很好，我们去公园", "公园"),
        ("今天天气很好，我们去公园", "天气"),
        ("家里有一只猫", "猫"),
        ("資料庫遷移", "資料庫"),
        ("猫は可愛いです", "猫が好き"),
        ("東京タワーに行った", "タワー"),
        ("東京タワーに行った", "東京"),
        ("ｶﾞｿﾘﾝを入れた", "ガソリン"),
        ("きのう寿司を食べた", "寿司"),
        ("学校で歌った", "歌"),
        ("학교에서 공부했다", "학교"),
        ("물을 마셨다", "물"),
        ("친구와 영화를 봤다", "영화는"),
        ("집은 멀다", "집에서"),
        ("컴퓨터가 고장났다", "컴퓨터"),
        ("ฉันชอบกินข้าวผัดที่บ้าน", "ข้าวผัด"),
        ("ฉันชอบกินข้าวผัดที่บ้าน", "บ้าน"),
        ("แมวสีดำ", "แมว"),
        ("ขี่ม้าในป่า", "ม้า"),
        ("café au lait", "cafe"),
        ("cafe au lait", "café"),
        ("cafe\u0301 au lait", "CAFÉ"),
        ("die Straße ist lang", "STRASSE"),
        ("die STRASSE ist lang", "straße"),
        ("ＡＢＣ１２３ kaputt", "abc123"),
        ("naïve Łódź", "lodz"),
        ("Ελληνικά γράμματα", "ΓΡΆΜΜΑΤΑ"),
        ("Ёлка стоит", "елка"),
        ("हिन्दी भाषा", "भाषा"),
        ("مَدْرَسَة كبيرة", "مدرسة"),
        ("we use c++ here", "c++"),
        ("we use C# here", "c#"),
        ("what's up with the box", "what's up?"),
        ("ticket NX-1a2b is open", "NX-1a2b"),
        ("set user:name first", "user:name"),
        ("the key #launch is set", "launch"),
        ("see snake_case_name", "case"),
        ("she went home", "going"),
        ("she goes home", "went"),
        ("the children sang", "child sings"),
        ("they were making tea", "made"),
        ("what's up?", "what's up?"),
        ("to be or not to be", "to be or not to be"),
        ("Will came", "Will"),
        ("它在\u200b这里", "这里"),
        ("o'brien called", "O’Brien"),
        ("don’t panic", "don't panic"),
        ("it was “great” — really", "great"),
        ("rock🎸music", "music"),
        ("a\ud800b broken", "broken"),
    ],
)
def test_a_word_is_found(memory: Any, text: str, query: str) -> None:
    """The text with the word comes before the others, whatever the script, width, case, accent or form."""
    memory.add("a", "some other words stand here")
    memory.add("b", text)
    memory.add("c", "全然違う話です")
    assert "b" == memory.found(query)[0]


@pytest.mark.parametrize(
    "query",
    [
        *(
            "(",
            '"',
            "NEAR(",
            "*",
            "'",
            "''",
            "-",
            ":",
            "\0",
            "\ud800",
            "a\ud800b",
            "^",
            "🎉",
            "???",
            "。",
            "+",
        ),
        *(
            "++",
            "#",
            "_",
            "zzzz",
            "x" * 100_000,
            "は" * 10_000,
            "２０２３年１３月",
            "0000-00-00",
            "9999-99-99",
        ),
        *("\u0301", "'s", "some^2", "NOT words2"),
    ],
)
def test_what_has_no_word_of_a_text_finds_nothing(memory: Any, query: str) -> None:
    """No query is an error, and signs find nothing."""
    memory.add("a", "some words stand here")
    memory.add("b", "今天天氣很好")
    assert [] == memory.found(query)


@pytest.mark.parametrize(
    "query",
    [
        *("words*", '"some', "text:stand", "{words}", "words^2", "-words", "NOT words", "words OR", "(words"),
        *("words\0", "words\ud800", "words;", "words' --", "some AND", "🎉words🎉"),
    ],
)
def test_what_looks_like_syntax_is_a_separator(memory: Any, query: str) -> None:
    """The words in a query are looked for, whatever signs stand around them."""
    memory.add("a", "some words stand here")
    memory.add("b", "今天天氣很好")
    assert ["a"] == memory.found(query)


def test_a_query_of_ten_thousand_words(memory: Any) -> None:
    """A query may have ten thousand words; the text with the most of them comes first."""
    words = [f"w{number}" for number in range(10_000)]
    memory.add("a", " ".join(words[5:25]))
    memory.add("b", " ".join(words[100:105]))
    assert ["a", "b"] == memory.found(" ".join(words))


_LETTERS = "aeinrst 'ñßΣçж中日が학교ที่บ้าน\u0301-_.?０Ａ\u200d＿+#\ud800ÅﬁŒ"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(_LETTERS, max_size=14), min_size=1, max_size=5))
def test_every_word_that_is_sought_of_a_text_finds_it(texts: list[str]) -> None:
    """What a query looks for is a token of the index: a text is found by all that it has itself."""
    base = schema.in_memory()
    base.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(map(indexed, texts)))
    for number, text in enumerate(texts):
        for one in sought(text):
            assert number in matching(base, [f'"{word}"' for word in one.words])
    base.close()


@pytest.mark.parametrize("conversation", ["", "talk"])
@pytest.mark.parametrize("number", [100, 5000])
def test_the_exact_words_come_first(memory: Any, number: int, conversation: str) -> None:
    """Of many records the one with the very words of the query is the first, 20 times of 20."""
    chance = random.Random(5)
    words = [f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in "mnprstz"]
    words += ["the", "a", "what", "when", "you", "i", "to"]
    records = [
        {
            "id": f"r{number:05}",
            "content": " ".join(chance.choices(words, k=chance.randint(5, 25))),
            "created_at": 1e9 + number * 60,
            "importance": chance.random(),
            "conversation": conversation,
            "metadata": {"name": "Bo"} if conversation else {},
        }
        for number in range(number)
    ]
    memory.append("hot", records)
    chosen = chance.sample(records, 20)
    assert [record["id"] for record in chosen] == [memory.found(str(r["content"]))[0] for r in chosen]
