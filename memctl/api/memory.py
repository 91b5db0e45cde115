"""Memory: the records of one user in hot, warm and cold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.ops.setup import Setup


class Memory:
    """The long-term memory of a user of a store. It keeps no state: every call looks at the files."""

    def __init__(self, setup: Setup, user: str) -> None:
        self._setup = setup
        self.user = user
