"""What search looks in, and what it answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.names import Reference, is_path
from memctl.ops.source import open_source
from memctl.store.search.answering import index_path
from memctl.store.search.messages import LogFile, Logs

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from memctl.core.message import Message
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source


class Match(NamedTuple):
    """A message that matches, and its neighbours in the order of the log; `conversation` as it is typed."""

    score: float
    conversation: str
    message: Message
    context: list[Message]


class Search(NamedTuple):
    """The answer, best first. `copies` of messages in it were left out; `vectors` is what retrieval did.

    `damaged` are the lines, by conversation, that hold, or also hold, what is no message. `empty` says that
    it was a user who has no conversation.
    """

    found: list[Match]
    copies: int
    vectors: dict[str, object] | None
    damaged: dict[str, int]
    empty: bool = False


class Where(NamedTuple):
    """What is searched: logs and their index, one conversation of them or all; how one is opened and named.

    `user` is None for a file.
    """

    user: str | None
    logs: Logs
    index_path: str | None
    conversation: str | None
    open: Callable[[str], Source]
    written: Callable[[str], str]


def where(setup: Setup, argument: str, stack: ExitStack) -> Where:
    """What an argument names, as it is typed; `stack` closes it. Raises NotFound."""
    if is_path(argument):
        source = open_source(setup, argument)
        stack.callback(os.close, source.fd)
        logs = LogFile(source.fd, argument)
        return Where(
            None,
            logs,
            None,
            None,
            lambda _name: source._replace(fd=os.dup(source.fd)),
            lambda _name: argument,
        )
    setup.check_layout()
    reference = setup.reference(argument, conversation=None)
    user = reference.user
    if reference.conversation is not None:
        # Say that it is not there before anything is searched.
        os.close(open_source(setup, reference).fd)
    return Where(
        user,
        Logs(setup.layout, user),
        index_path(setup.layout, user, "messages"),
        reference.conversation,
        lambda name: open_source(setup, Reference(user, name)),
        lambda name: Reference(user, name).written(),
    )
