"""Errors of the operating system leave the library as errors of its own family."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from memctl.errors import of_system

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
Answer = TypeVar("Answer")


def of_our_family(method: Callable[P, Answer]) -> Callable[P, Answer]:
    """A method whose OSErrors become MemctlErrors; a closed pipe stays what it is."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            return method(*args, **kwargs)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise of_system(error) from error

    return call
