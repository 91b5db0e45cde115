"""The shipped vocabularies, and the table laid out from one: right answers or none."""

from __future__ import annotations

import gzip
import os
import stat
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from memctl.errors import Unavailable
from memctl.store import vocabulary

NAME = "o200k_base"

#: A small whole vocabulary: all bytes, then merges; a rank above 2 ** 14 fills all three rank bytes.
MERGES = {
    b"ab": 256,
    b" a": 257,
    b"abc": 300,
    "中".encode(): 16_384,
    b"\x00\x01": 70_000,
    b"a" * 128: 199_997,
}
RANKS = vocabulary.Ranks({bytes((byte,)): byte for byte in range(256)} | MERGES)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = Path(vocabulary.table_path(str(tmp_path), NAME))
    vocabulary.lay_out(str(path), NAME, RANKS)
    return path


def opened(path: Path, name: str = NAME) -> vocabulary.TableRanks | None:
    return vocabulary.open_table(str(path), name)


def test_table_holds_every_merge(table: Path) -> None:
    """A table gives the rank of every token of two bytes and more, on first and second asking."""
    ranks = opened(table)
    assert ranks is not None
    for _ in range(2):
        assert MERGES == {token: ranks[token] for token in MERGES}


@pytest.mark.parametrize("token", [b"ba", b"abcd", b"b", b"", b"a" * 127, b"a" * 129, "中文".encode(), b"bc"])
def test_table_has_no_rank_for_other_bytes(table: Path, token: bytes) -> None:
    """Bytes that are no token, also parts and extensions of tokens, have no rank."""
    ranks = opened(table)
    assert ranks is not None
    assert vocabulary.NO_RANK == ranks[token]


def test_whole_vocabulary_has_no_rank_for_other_bytes() -> None:
    """A vocabulary in memory answers like a table and does not grow by being asked."""
    ranks = vocabulary.Ranks(RANKS)
    assert (256, vocabulary.NO_RANK) == (ranks[b"ab"], ranks[b"ba"])
    assert len(RANKS) == len(ranks)


def test_every_token_of_the_shipped_vocabulary_is_found(tmp_path: Path) -> None:
    """The table of a shipped vocabulary holds all its tokens, none of which contains a separator byte."""
    name, digest = "cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
    ranks = vocabulary.read_shipped(name, digest)
    path = tmp_path / "table"
    vocabulary.lay_out(str(path), name, ranks)
    table = opened(path, name)
    assert table is not None
    merges = [token for token in ranks if len(token) > 1]
    assert 100_000 == len(merges)
    assert [] == [token for token in merges if ranks[token] != table[token]]
    assert [] == [token for token in merges if b"\xff" in token or b"\xfe" in token]


def test_table_is_private(table: Path) -> None:
    """The table and its directory belong to the user alone, and no temporary file is left."""
    assert 0o600 == stat.S_IMODE(table.stat().st_mode)
    assert 0o700 == stat.S_IMODE(table.parent.stat().st_mode)
    assert [table] == list(table.parent.iterdir())


@pytest.mark.parametrize("kept", [0, 1, 35, 36, 1000, 36 + 4 * 65_537, -1])
def test_truncated_table_is_refused(table: Path, kept: int) -> None:
    """A table that lacks its end is none."""
    image = table.read_bytes()
    table.write_bytes(image[:kept])
    assert opened(table) is None


@pytest.mark.parametrize("at", [0, 14, 20, 31, 32, 35, 36, 40, 36 + 4 * 65_536, -1, -2, -20])
def test_scribbled_table_is_refused(table: Path, at: int) -> None:
    """A changed bit in any part of the file is noticed."""
    image = bytearray(table.read_bytes())
    image[at] ^= 0x01
    table.write_bytes(image)
    assert opened(table) is None


def test_lengthened_table_is_refused(table: Path) -> None:
    """Bytes behind the end are noticed."""
    table.write_bytes(table.read_bytes() + b"\0")
    assert opened(table) is None


def test_table_of_another_vocabulary_is_refused(table: Path) -> None:
    """A sound table under the name of another vocabulary is none."""
    assert opened(table, "cl100k_base") is None


def test_table_of_another_format_version_is_refused(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sound table of another format version is none, and has another file name."""
    monkeypatch.setattr(vocabulary, "_FORMAT_VERSION", 2)
    assert opened(table) is None
    assert table != Path(vocabulary.table_path(str(table.parent.parent), NAME))


def test_what_is_no_file_is_no_table(tmp_path: Path) -> None:
    """A missing file, a directory, a pipe and a device are refused without waiting."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 1 << 40)
    places = [tmp_path / "missing", tmp_path, tmp_path / "pipe", tmp_path / "huge", Path("/dev/zero")]
    assert [None] * 5 == [opened(place) for place in places]


# -- the shipped file -----------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a package that takes the place of the installed one."""
    monkeypatch.setattr(vocabulary, "PACKAGE", "memctl_test_vocabularies")
    monkeypatch.syspath_prepend(tmp_path)
    data = tmp_path / "memctl_test_vocabularies" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    return data


def plain(ranks: dict[bytes, int]) -> bytes:
    return b"".join(b"%b %d\n" % (b64encode(token), rank) for token, rank in ranks.items())


def test_shipped_vocabulary_is_read(package: Path) -> None:
    """The vocabulary is read from the package's data without importing the package."""
    text = plain(RANKS)
    (package / "x.tiktoken.gz").write_bytes(gzip.compress(text))
    assert RANKS == vocabulary.read_shipped("x", sha256(text).hexdigest())


def test_other_vocabulary_is_unavailable(package: Path) -> None:
    """A vocabulary that tiktoken does not expect is refused, and the message names the package."""
    (package / "x.tiktoken.gz").write_bytes(gzip.compress(plain(RANKS)))
    with pytest.raises(Unavailable, match="memctl_test_vocabularies holds another vocabulary"):
        vocabulary.read_shipped("x", sha256(b"expected").hexdigest())


@pytest.mark.parametrize("damage", [b"", b"no gzip", gzip.compress(b"cut short", mtime=0)[:-3], None])
def test_unreadable_vocabulary_is_unavailable(package: Path, damage: bytes | None) -> None:
    """A damaged or missing vocabulary is refused, and the message names the package."""
    if damage is not None:
        (package / "x.tiktoken.gz").write_bytes(damage)
    with pytest.raises(Unavailable, match="memctl_test_vocabularies"):
        vocabulary.read_shipped("x", sha256(b"cut short").hexdigest())


def test_missing_package_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package there is no vocabulary, and the message names it."""
    monkeypatch.setattr(vocabulary, "PACKAGE", "memctl_test_missing")
    with pytest.raises(Unavailable, match="memctl_test_missing is not installed"):
        vocabulary.read_shipped("o200k_base", "")
