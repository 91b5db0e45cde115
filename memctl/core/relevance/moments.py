"""Time in a query and in a text: dates that a query names, words that tell a time, words that count."""

from __future__ import annotations

import itertools
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = {name[:3]: name for name in MONTHS} | {"sept": "september"}

# As they stand in a folded text, before stemming.
_TIME = (
    "yesterday today tonight tomorrow ago last next week weeks month months year years weekend weekends"
    " morning evening night recently soon since spring summer autumn fall winter"
)
TIME_WORDS = frozenset([*_TIME.split(), *MONTHS, *DAYS])
_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand"
    " once twice thrice couple several both"
)
NUMBER_WORDS = frozenset(_NUMBERS.split())

_WHEN = frozenset(["when", "wann", "quand", "cuando", "quando", "когда"])
_WHICH = frozenset(["date", "day", "month", "year", "time"])
_WHEN_PARTS = ("何時", "いつ", "언제", "什么时候", "什麼時候", "เมื่อไ")
_HOW_MUCH = "wieviel wieviele combien cuanto cuanta cuantos cuantas quanto quanti quante сколько"
_COUNT = frozenset(_HOW_MUCH.split())
_HOW = frozenset(["many", "much", "often", "old", "long"])
_COUNT_PARTS = ("多少", "几个", "幾個", "いくつ", "何人", "何個", "몇", "number of", "wie viel")


def _after(words: list[str], first: tuple[str, ...], then: frozenset[str]) -> bool:
    """Whether one of the words `first` stands before one of the others."""
    return any(a in first and b in then for a, b in itertools.pairwise(words))


def asks_when(query: str) -> bool:
    """Whether a (folded) query asks for a time."""
    words = query.replace("?", " ").split()
    return (
        not _WHEN.isdisjoint(words)
        or _after(words, ("what", "which"), _WHICH)
        or _after(words, ("how",), frozenset(("long",)))
        or (not query.isascii() and any(part in query for part in _WHEN_PARTS))
    )


def asks_how_many(query: str) -> bool:
    """Whether a (folded) query asks for a number."""
    words = query.replace("?", " ").split()
    return (
        not _COUNT.isdisjoint(words)
        or _after(words, ("how",), _HOW)
        or any(part in query for part in _COUNT_PARTS)
    )


@cache
def _dates() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(r"\b(\d{4})-(\d\d?)(?:-(\d\d?))?\b"),
        re.compile(r"(?:(\d{4}) ?[年년] ?)?(\d\d?) ?[月월](?: ?(\d\d?) ?[日일号號])?"),
    )


_WORDS = re.compile(r"[a-z]+|\d+")


def date_words(query: str) -> frozenset[str]:
    """What a (folded) query says about a date, each as `label` writes it: `may`, `2023`, `#8`, `monday`."""
    found: set[str] = set()
    words = _WORDS.findall(query)
    numbers = any(word.isdigit() for word in words)
    for year, month, day in (
        [hit for pattern in _dates() for hit in pattern.findall(query)] if numbers else ()
    ):
        if year:
            found.add(year)
        if 1 <= int(month) <= 12:
            found.add(MONTHS[int(month) - 1])
            if day:
                found.add(f"#{int(day)}")
    for i, word in enumerate(words):
        if word in MONTHS and word not in ("may", "march"):
            month_here = word
        elif word in ("may", "march"):
            # The verbs: a month stands after a preposition or beside a number.
            beside = [*words[max(i - 1, 0) : i], *words[i + 1 : i + 2]]
            if not any(
                b.isdigit() or b in ("in", "of", "on", "during", "since", "until", "th") for b in beside
            ):
                continue
            month_here = word
        elif word in _SHORT and any(b.isdigit() for b in words[max(i - 1, 0) : i + 2]):
            month_here = _SHORT[word]
        else:
            if word in DAYS or (len(word) == 4 and word.isdigit() and word[:2] in ("19", "20")):
                found.add(word)
            continue
        found.add(month_here)
        for near in (*words[max(i - 3, 0) : i], *words[i + 1 : i + 3]):
            if near.isdigit() and len(near) < 3 and 1 <= int(near) <= 31:
                found.add(f"#{int(near)}")
    return frozenset(found)


def label(day: int) -> tuple[str, str, str, str]:
    """The words of a date, given as days since 1970: weekday, day, month, year."""
    # Years are counted from March on, in eras of 400 years, so that the leap day is the last of them.
    era, of_era = divmod(day + 719468, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    dom = of_year - (153 * month + 2) // 5 + 1
    year = year_of_era + era * 400 + (month > 9)
    return DAYS[(day + 3) % 7], f"#{dom}", MONTHS[(month + 2) % 12], str(year)


def matching_days(words: frozenset[str], days: Iterable[int]) -> dict[int, float]:
    """The days that a query's date words fit, with the share of the words that fit."""
    if not words:
        return {}
    hits = {day: len(words.intersection(label(day))) / len(words) for day in days}
    return {day: share for day, share in hits.items() if share}
