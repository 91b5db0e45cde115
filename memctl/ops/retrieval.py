"""retrieval: which texts mean what a query means, by vectors; they are made here and kept in a cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memctl.core import embedding
from memctl.errors import BadConfig, Unavailable
from memctl.ops import child
from memctl.store.vectors import Vectors, key

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memctl.ops.setup import Setup
    from memctl.settings import Settings

    Vector = array[float]
    Progress = Callable[[int, int], None]

#: Texts that a command is given at once.
BATCH_TEXTS = 256


class Embedder(Protocol):
    """What makes vectors. `name` is a file name, one for each embedder whose vectors differ."""

    @property
    def name(self) -> str: ...

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, none of them empty. Raises Unavailable."""
        ...


class _Hash:
    name = "hash"

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        return [embedding.hashed(text) for text in texts]


class _Command:
    def __init__(self, value: str, timeout_s: float | None) -> None:
        from hashlib import blake2b

        self._words = child.words("retrieval.embedder", value)
        self._timeout_s = timeout_s
        self.name = f"cmd-{blake2b(value.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        from memctl.core import jsonl

        data = b"".join(jsonl.dumps(text) + b"\n" for text in texts)
        printed = child.run(self._words, data, self._timeout_s, "retrieval.embedder")
        lines = printed.split(b"\n")
        if not lines[-1].strip():
            lines.pop()
        if len(lines) != len(texts):
            raise Unavailable(
                f"retrieval.embedder: {self._words[0]} printed {len(lines)} lines for {len(texts)} texts",
                hint="one JSON array of numbers a line is expected, in the order of the texts",
            )
        return [self._vector(number, line) for number, line in enumerate(lines, 1)]

    def _vector(self, number: int, line: bytes) -> Vector:
        from array import array
        from math import isfinite

        from memctl.core import jsonl

        try:
            value = jsonl.loads(line)
        except ValueError:
            value = None
        numbers = value if type(value) is list else []
        try:
            if numbers and all(type(one) in (int, float) for one in numbers):
                vector = array("f", numbers)
                if all(map(isfinite, vector)):
                    return vector
        except OverflowError:
            pass
        raise Unavailable(
            f"retrieval.embedder: line {number} of what {self._words[0]} printed is no vector",
            hint="one JSON array of numbers a line is expected, in the order of the texts",
        )


def mode(settings: Settings) -> str:
    """`lexical`, `semantic` or `both`."""
    return str(settings["retrieval.mode"])


def embedder(settings: Settings) -> Embedder:
    """The embedder of the settings. Raises BadConfig where there is none, Unavailable for the extra."""
    value = str(settings["retrieval.embedder"]).strip()
    if value == "hash":
        return _Hash()
    if value.startswith(child.PREFIX):
        return _Command(value, float(settings["retrieval.timeout"]) or None)
    if value == "model":
        raise Unavailable(
            "retrieval.embedder = model: this memctl has no model of its own",
            hint="a program that makes vectors is given as cmd:COMMAND; memctl help recall",
        )
    said = f"retrieval.embedder = {value!r} is none" if value else "there is no retrieval.embedder"
    raise BadConfig(
        f"retrieval.mode = {mode(settings)} needs an embedder, and {said}",
        hint="hash, or cmd:COMMAND; retrieval.mode = lexical needs none",
    )


class Near(NamedTuple):
    """How near texts are to a query: cosines by number, of those that reach the least score.

    `made` vectors were made now; `stale` ones have another size than that of the query and are passed over,
    so are `blank` texts, which have none.
    """

    cosines: dict[int, float]
    embedder: str
    made: int
    stale: int
    blank: int

    def explain(self) -> dict[str, object]:
        """For the object of --explain."""
        return {"embedder": self.embedder, "made": self.made, "stale": self.stale, "blank": self.blank}


def near(
    setup: Setup, user: str | None, query: str, texts: Mapping[int, str], progress: Progress | None = None
) -> Near:
    """Compare a query with texts by number. Vectors that are missing are made first.

    Those of a user are kept, but in a store that memctl never wrote to.

    Raises BadConfig without an embedder, Unavailable if it fails.
    """
    model = embedder(setup.settings)
    least = float(setup.settings["retrieval.min_score"])
    (wanted,) = model.vectors([query])
    wanted_norm = embedding.norm(wanted)
    keeps = user is not None and os.path.isdir(f"{setup.layout.root}/.memctl")
    known = Vectors(setup.layout.vectors(user, model.name) if user is not None and keeps else None)
    keys = {number: key(text) for number, text in texts.items() if text.strip()}
    made = _complete(model, known, {keys[number]: texts[number] for number in keys}, progress)
    cosines: dict[int, float] = {}
    stale = 0
    for number, digest in keys.items():
        vector = known.get(digest)
        if vector is None or len(vector) != len(wanted):
            stale += 1
            continue
        cosine = embedding.cosine(wanted, vector, wanted_norm, embedding.norm(vector))
        if cosine >= least:
            cosines[number] = cosine
    return Near(cosines, model.name, made, stale, len(texts) - len(keys))


def _complete(model: Embedder, known: Vectors, texts: Mapping[bytes, str], progress: Progress | None) -> int:
    """Make the vectors that are missing, batch by batch, each kept as it comes; how many."""
    missing = [digest for digest in texts if digest not in known]
    for start, batch in _batches(missing):
        if progress is not None:
            progress(start, len(missing))
        known.add(dict(zip(batch, model.vectors([texts[digest] for digest in batch]), strict=True)))
    return len(missing)


def _batches(digests: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    for start in range(0, len(digests), BATCH_TEXTS):
        yield start, digests[start : start + BATCH_TEXTS]


def rebuild(setup: Setup, user: str) -> int:
    """Make the vectors of a user's records and messages anew and keep no others; how many.

    Raises BadConfig without an embedder, Unavailable if it fails: what was made until then is kept.
    """
    from memctl.store import tiers, vectors
    from memctl.store.search.messages import Logs

    model = embedder(setup.settings)
    texts = {key(one.searchable): one.searchable for one in tiers.read(setup.layout, user).records.values()}
    logs = Logs(setup.layout, user)
    for source in logs.marks():
        texts.update((key(entry.text), entry.text) for entry in logs.read(source, 0))
    vectors.drop(setup.layout, user)
    known = Vectors(setup.layout.vectors(user, model.name))
    return _complete(model, known, {digest: text for digest, text in texts.items() if text.strip()}, None)
