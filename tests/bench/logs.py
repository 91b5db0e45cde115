"""Conversations of any length for measuring: turns in English prose with tool calls, streamed into a file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

_SYLLABLES = "ber con der ent fol gra hin ist ker lan mor nis per qua ris sta ton ur ven wit"
_COMMON = "the of and to in a is that for it as was with be by on not he his but at"
_ENDINGS = ("", "", "s", "ed", "ing", "ly", "er")
_WORDS_A_MESSAGE = 125
_BATCH_LINES = 10_000


class Writer:
    """Makes lines one after another; the same seed gives the same lines."""

    def __init__(self, seed: int = 1) -> None:
        self._rng = random.Random(seed)
        rng = self._rng
        syllables, common = _SYLLABLES.split(), _COMMON.split()
        made = ["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3)))) for _ in range(1500)]
        self._words = common * 40 + [word + rng.choice(_ENDINGS) for word in made]
        self._paragraphs = [self._prose(40) for _ in range(4000)]

    def _prose(self, words: int) -> str:
        text = " ".join(self._rng.choices(self._words, k=words))
        return f"{text.capitalize()}, {self._rng.randrange(100_000)} {self._rng.choice(self._words)}."

    def text(self, number: int) -> str:
        """About 250 tokens; some of it occurs in no other message."""
        rng = self._rng
        paragraphs = " ".join(rng.choices(self._paragraphs, k=_WORDS_A_MESSAGE // 41))
        return f"Message {number}. {paragraphs} {rng.getrandbits(64):016x} {rng.choice(self._words)}{number}"

    def fresh(self, number: int) -> bytes:
        """A message of about 250 tokens made of sentences that no other message has."""
        role = "user" if number % 2 == 0 else "assistant"
        return b'{"role":"%s","content":"%s"}\n' % (role.encode(), self._prose(_WORDS_A_MESSAGE).encode())

    def lines(self, count: int) -> Iterator[bytes]:
        """A system message, then turns; every fourth turn calls a tool."""
        yield b'{"role":"system","content":"Answer briefly, and say what you do not know."}\n'
        number = 1
        turn = 0
        while number < count:
            turn += 1
            for line in self._turn(turn, number):
                if number < count:
                    yield line
                number += 1

    def _turn(self, turn: int, number: int) -> list[bytes]:
        user = f'{{"role":"user","content":"{self.text(number)}"}}\n'
        answer = f'{{"role":"assistant","content":"{self.text(number + 1)}"}}\n'
        if turn % 4:
            return [user.encode(), answer.encode()]
        call = (
            f'{{"role":"assistant","content":"","tool_calls":[{{"id":"call-{turn}","type":"function",'
            f'"function":{{"name":"look_up","arguments":"{{\\"q\\":\\"{self.text(number)}\\"}}"}}}}]}}\n'
        )
        result = f'{{"role":"tool","content":"{self.text(number)}","tool_call_id":"call-{turn}"}}\n'
        return [user.encode(), call.encode(), result.encode(), answer.encode()]


def write(path: Path, count: int) -> None:
    """Write a conversation of `count` messages; one of that size that is there already stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        batch: list[bytes] = []
        for line in Writer().lines(count):
            batch.append(line)
            if len(batch) == _BATCH_LINES:
                file.writelines(batch)
                batch.clear()
        file.writelines(batch)
