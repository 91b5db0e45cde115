"""A query, read once: the words it looks for and what else it says (date, speaker, kind of answer)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core.relevance import words
from memctl.core.relevance.english import STOP
from memctl.core.relevance.folding import fold
from memctl.core.relevance.moments import asks_how_many, asks_when, date_words

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME_WEIGHT = 0.5  # of a word that names a speaker: who is named is mostly the one who speaks, not the topic


class Query(NamedTuple):
    """What is looked for."""

    sought: list[words.Sought]
    length: int = 0  # of the text, measured as that of a document
    dates: frozenset[str] = frozenset()
    when: bool = False
    many: bool = False
    speaker: int = 0  # the number of the one speaker that is named; 0: none or several


def read(text: str, speakers: Sequence[str]) -> Query:
    """The query, given the names of all speakers by number (number 0 is nobody)."""
    folded = fold(text)
    wanted = words.sought(text)
    said = {part for word in words.surface(text) for part in (word, word.partition("'")[0])}
    who, named = _speakers(said, speakers)
    if named:
        wanted = [
            one._replace(weight=one.weight * NAME_WEIGHT) if one.words[0] in named else one for one in wanted
        ]
    return Query(
        sought=wanted,
        length=words.length(words.indexed(text)),
        dates=date_words(folded),
        when=asks_when(folded),
        many=asks_how_many(folded),
        speaker=who.pop() if len(who) == 1 else 0,
    )


def _speakers(said: set[str], speakers: Sequence[str]) -> tuple[set[int], set[str]]:
    """The speakers who are named among the words, and the words that name them."""
    who: set[int] = set()
    named: set[str] = set()
    for number, name in enumerate(speakers):
        parts = {part for part in words.surface(name) if len(part) > 1} - STOP
        if number and not parts.isdisjoint(said):
            who.add(number)
            named |= parts & said
    return who, named
