"""What an answer is like: the newer of near matches, ties, equal texts once, weights, mixed stores."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.core.relevance.merit import Weights

DAY = 86_400.0
MARCH = 1_772_323_200.0  # 2026-03-01


@pytest.mark.parametrize("conversation", ["b81", ""])
def test_case_b81(memory: Any, conversation: str) -> None:
    """Of two near matches the newer wins, in a conversation and as facts."""
    for id, text, at in (
        ("a", "ssh port of the box is 22", 1_736_067_600),
        ("b", "we moved the box, ssh now listens on port 49222", 1_771_578_000),
        ("c", "the box is blue", 1_771_664_400),
    ):
        memory.add(id, text, created_at=at, importance=0.7, conversation=conversation)
    found = memory.scored("ssh port of the box", now=MARCH)
    assert ["b", "a", "c"] == [id for id, _ in found]
    assert all(found == memory.scored("ssh port of the box", now=MARCH) for _ in range(5))


def test_ties_go_by_id(memory: Any) -> None:
    """What differs in nothing comes in the order of the ids."""
    ids = [f"r{number * 7 % 50:02}" for number in range(50)]
    for number, id in enumerate(ids):
        memory.add(id, f"tea number{number + 10}")
    assert sorted(ids) == memory.found("tea")


@pytest.mark.parametrize(
    ("weights", "expected"), [(Weights(0.0, 0.0, 1.0), "dear"), (Weights(1.0, 0.0, 0.0), "match")]
)
def test_a_given_weight_is_meant_as_given(memory: Any, weights: Weights, expected: str) -> None:
    """With all weight on one part, that part decides."""
    memory.add("match", "tea", importance=0.1)
    memory.add("dear", "tea and many other words here", importance=1.0)
    assert expected == memory.found("tea", weights=weights)[0]


def test_a_turn_is_found_by_its_neighbours(memory: Any) -> None:
    """The answer to a question has none of its words, and comes before what is far away."""
    talk = ["Where did you put the spare key?", "Under the blue pot.", "Thanks!", "See you."]
    for number, text in enumerate(talk):
        memory.add(f"t{number}", text, conversation="c", created_at=1e9 + 60 * number)
    for number in range(20):
        memory.add(f"u{number}", "It rained again.", conversation="d", created_at=1e9 + 60 * number)
    found = memory.found("where is the spare key")
    assert {"t0", "t1"} == set(found[:2])
    assert not any(id.startswith("u") for id in found)


def test_facts_and_turns_meet_in_one_list(memory: Any) -> None:
    """A fact with the words of the query is not behind turns that merely stand near one of them."""
    memory.add("fact", "The dentist is Dr. Molar, on Hill Street.")
    for number in range(60):
        text = "I am at the dentist now." if number == 30 else f"Nothing new here, day {number}."
        memory.add(f"t{number:02}", text, conversation="c", created_at=1e9 + 60 * number)
    found = memory.found("who is the dentist on Hill Street")
    assert "fact" == found[0]
    assert "t30" in found[:3]


def test_a_new_conversation_is_no_neighbour(memory: Any) -> None:
    """Turns of another conversation lend nothing, though they stand beside it in the file."""
    memory.add("a", "the key is under the pot", conversation="x", created_at=1e9)
    memory.add("b", "it rained", conversation="y", created_at=1e9 + 1)
    assert ["a"] == memory.found("key")
