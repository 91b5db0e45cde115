"""Source: an open conversation log to read from, in the store or any file, and where its caches lie."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memctl.core.names import Reference, encode
from memctl.errors import AccessDenied, BadInput, Changing, NotFound
from memctl.store import log
from memctl.store.entries import Damaged
from memctl.store.layout import user_cache_dir
from memctl.store.sidecar import Index

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.ops.setup import Setup

Answer = TypeVar("Answer")


class Source(NamedTuple):
    """A log open for reading; the caller closes `fd`. `cache` is where its caches' names begin, or None."""

    name: str
    fd: int
    cache: str | None
    user_cache: str | None

    def cache_path(self, kind: str) -> str | None:
        """The path of a cache of this log."""
        return None if self.cache is None else f"{self.cache}.{kind}"


def open_source(setup: Setup, target: Reference | str) -> Source:
    """The log of a conversation, or a file by its path (`-` is standard input); no lock is taken.

    Raises NotFound, AccessDenied. A path may lead over links: it is the caller's own.
    """
    user_cache = user_cache_dir()
    if isinstance(target, Reference):
        setup.check_layout()
        try:
            fd = log.open_log(setup.place(target), "")
        except NotFound:
            raise setup.missing(target) from None
        cache = store_cache(setup, target, setup.place(target).path, user_cache)
        return Source(target.written(), fd, cache, user_cache)
    fd = _open_path(target)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return Source(target, _spool(fd), None, user_cache)
    if target == "-":
        return Source(target, fd, None, user_cache)
    return Source(target, fd, _file_cache(os.path.realpath(target), user_cache), user_cache)


def store_cache(setup: Setup, reference: Reference | None, path: str, user_cache: str | None) -> str | None:
    """In the store; one that memctl never wrote to (a Go directory, samples) is left as it is."""
    if reference is not None and os.path.isdir(f"{setup.layout.root}/.memctl"):
        place = setup.layout.cache(reference.user, reference.conversation or "", "index")
        return place.path.removesuffix(".index")
    return _file_cache(os.path.realpath(path), user_cache)


def _file_cache(path: str, user_cache: str | None) -> str | None:
    if user_cache is None:
        return None
    from hashlib import blake2b

    digest = blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return f"{user_cache}/files/{encode(os.path.basename(path))[:60]}-{digest}"


def _open_path(path: str) -> int:
    if path == "-":
        if sys.stdin is None:
            raise NotFound("there is no standard input")
        return os.dup(sys.stdin.fileno())
    expanded = os.path.expanduser(path) if path.startswith("~") else path
    try:
        fd = os.open(expanded, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        hint = (
            "a conversation is written USER/CONVERSATION, without .jsonl" if path.endswith(".jsonl") else ""
        )
        raise NotFound(f"no file {path}", hint=hint) from None
    except PermissionError as error:
        raise AccessDenied(f"{path}: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"this cannot be a path: {path!r}") from None
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotFound(f"{path} is a directory, a file is expected")
    return fd


def _spool(fd: int) -> int:
    """The bytes of a pipe in a file without a name, so that they can be read at any place."""
    import tempfile

    with tempfile.TemporaryFile() as file, open(fd, "rb") as pipe:
        while block := pipe.read(1 << 20):
            file.write(block)
        file.flush()
        return os.dup(file.fileno())


def with_index(
    source: Source, progress: Callable[[int, int], None] | None, answer: Callable[[Index], Answer]
) -> Answer:
    """What `answer` says of the log's index; an index that turns out wrong is made anew."""
    for attempt in range(4):
        try:
            index = Index(source.fd, source.cache_path("index") if attempt < 3 else None, progress)
        except Damaged:
            # The log was rewritten while it was read.
            continue
        try:
            return answer(index)
        except Damaged:
            index.discard()
        finally:
            index.close()
    raise Changing(f"{source.name} changes faster than it can be read", hint="try again")
