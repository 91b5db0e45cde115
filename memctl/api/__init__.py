"""Store and Conversation: what a Python program uses; one short method per use case.

The command line is a thin layer over this package, with the same errors as exceptions.
"""

from __future__ import annotations

from memctl.api.conversation import Conversation
from memctl.api.store import Store

__all__ = ["Conversation", "Store"]
