"""A small store for the search index: tier files and logs written by hand, and questions to the index."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from memctl.core.relevance import merit
from memctl.store.layout import Layout
from memctl.store.search.catching_up import Report, open_current
from memctl.store.search.index import Located, SearchIndex
from memctl.store.search.messages import Logs
from memctl.store.search.records import RecordFiles

USER = "ann"


class Memory:
    """The records and conversations of one user."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout.of(str(root))
        self.report = Report()

    def path(self, tier: str) -> Path:
        """The file of a tier."""
        path = Path(self.layout.tier(tier, USER).path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def log(self, conversation: str) -> Path:
        """The log of a conversation."""
        path = Path(self.layout.log(USER, conversation).path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def index_path(self, kind: str = "records") -> str:
        """Where the index of the records or messages is kept."""
        return self.layout.search_index(USER, kind).path

    def add(self, id: str, content: Any = "", *, tier: str = "hot", **more: Any) -> None:
        """Append a record."""
        self.append(tier, [{"id": id, "content": content, "rev": 1, **more}])

    def append(self, tier: str, records: Iterable[dict[str, Any]]) -> None:
        """Append records."""
        with self.path(tier).open("ab") as file:
            file.writelines(lines(records))

    def replace(self, tier: str, records: Iterable[dict[str, Any]]) -> None:
        """Put a new file with these records in the place of a tier file."""
        new = self.path(tier).with_suffix(".new")
        new.write_bytes(b"".join(lines(records)))
        os.replace(new, self.path(tier))

    def records(self, tier: str) -> list[dict[str, Any]]:
        """The lines of a tier file."""
        path = self.path(tier)
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def say(self, conversation: str, content: Any, **more: Any) -> None:
        """Append a message."""
        with self.log(conversation).open("ab") as file:
            file.writelines(lines([{"role": "user", "content": content, **more}]))

    def open(self, kind: str = "records", *, kept: bool = True) -> SearchIndex:
        """The index as it is now; `report` tells what that took."""
        truth = RecordFiles(self.layout, USER) if kind == "records" else Logs(self.layout, USER)
        index, self.report = open_current(self.index_path(kind) if kept else None, truth)
        return index

    def scored(self, query: str, **more: Any) -> list[tuple[str, float]]:
        """Ids and scores of the records that answer, best first."""
        with self.open() as index:
            return [(place.id, score) for place, score in answers(index, query, **more)]

    def found(self, query: str, **more: Any) -> list[str]:
        """The ids of the records that answer, best first."""
        return [id for id, _ in self.scored(query, **more)]


def lines(values: Iterable[dict[str, Any]]) -> list[bytes]:
    """Values as lines of JSON, lone surrogates as escapes."""
    return [json.dumps(value).encode() + b"\n" for value in values]


def answers(
    index: SearchIndex,
    query: str,
    *,
    now: float = 2e9,
    weights: merit.Weights | None = None,
    among: bytearray | None = None,
) -> list[tuple[Located, float]]:
    """Places and scores of what answers, best first."""
    hits = merit.hits(index.corpus, index.rank(query, among=among), weights or merit.Weights(), now)
    ordered = list(merit.in_order(hits, index.names))
    places = index.where([hit.doc for hit in ordered])
    return [(places[hit.doc], hit.score) for hit in ordered]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)
