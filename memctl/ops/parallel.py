"""Parallel: work on many users, divided among processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memctl.errors import MemctlError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Task = TypeVar("Task")
Result = TypeVar("Result")


def shared(
    work: Callable[[Task, str], Result], task: Task, users: Sequence[str], jobs: int
) -> Iterator[tuple[str, Result | MemctlError]]:
    """The result of `work(task, user)` for each user, in order, from at most `jobs` processes.

    Tasks, results and errors pass through pipes. Of a process that ends before its time the users that it
    had not answered for get an error as their result.
    """
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Forked, they have all that is loaded already; what they do holds no thread.
    workers = min(jobs, len(users))
    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        futures = [pool.submit(work, task, user) for user in users]
        for user, future in zip(users, futures, strict=True):
            try:
                yield user, future.result()
            except BrokenProcessPool:
                yield user, StorageError("a process that worked for this run was ended before its time")
