"""memctl: what language-model agents remember, in plain files.

The public names are resolved on first use (PEP 562), so `import memctl` costs next to nothing.
"""

# Type checkers take this name for true; importing typing for it would cost more than all the rest here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from memctl.api import Conversation as Conversation
    from memctl.api import Store as Store
    from memctl.core.marker import EPHEMERAL as EPHEMERAL
    from memctl.core.marker import INCOMPLETE as INCOMPLETE
    from memctl.core.marker import SUMMARY as SUMMARY
    from memctl.core.marker import is_ephemeral as is_ephemeral
    from memctl.core.marker import is_incomplete as is_incomplete
    from memctl.core.marker import is_summary as is_summary
    from memctl.core.marker import last_summary_index as last_summary_index
    from memctl.core.marker import mark_incomplete as mark_incomplete
    from memctl.core.marker import new_ephemeral_message as new_ephemeral_message
    from memctl.core.marker import new_summary_message as new_summary_message
    from memctl.core.message import Message as Message
    from memctl.core.names import Reference as Reference
    from memctl.core.reference_rule import TokenCounter as TokenCounter
    from memctl.core.reference_rule import select_window as select_window
    from memctl.core.window import Window as Window
    from memctl.errors import AccessDenied as AccessDenied
    from memctl.errors import AlreadyExists as AlreadyExists
    from memctl.errors import BadConfig as BadConfig
    from memctl.errors import BadInput as BadInput
    from memctl.errors import BadName as BadName
    from memctl.errors import BadReference as BadReference
    from memctl.errors import CannotCreate as CannotCreate
    from memctl.errors import Changing as Changing
    from memctl.errors import IdConflict as IdConflict
    from memctl.errors import LockTimeout as LockTimeout
    from memctl.errors import MemctlError as MemctlError
    from memctl.errors import NotFound as NotFound
    from memctl.errors import Overtaken as Overtaken
    from memctl.errors import StorageError as StorageError
    from memctl.errors import StrictFinding as StrictFinding
    from memctl.errors import Unavailable as Unavailable
    from memctl.errors import UsageError as UsageError
    from memctl.settings import Settings as Settings

__version__ = "0.1.0"

#: Module below this package -> the public names that it holds.
_PUBLIC = {
    "api": ("Conversation", "Store"),
    "core.marker": (
        "EPHEMERAL",
        "INCOMPLETE",
        "SUMMARY",
        "is_ephemeral",
        "is_incomplete",
        "is_summary",
        "last_summary_index",
        "mark_incomplete",
        "new_ephemeral_message",
        "new_summary_message",
    ),
    "core.message": ("Message",),
    "core.names": ("Reference",),
    "core.reference_rule": ("TokenCounter", "select_window"),
    "core.window": ("Window",),
    "errors": (
        "AccessDenied",
        "AlreadyExists",
        "BadConfig",
        "BadInput",
        "BadName",
        "BadReference",
        "CannotCreate",
        "Changing",
        "IdConflict",
        "LockTimeout",
        "MemctlError",
        "NotFound",
        "Overtaken",
        "StorageError",
        "StrictFinding",
        "Unavailable",
        "UsageError",
    ),
    "settings": ("Settings",),
}


def __getattr__(name: str) -> object:
    for module, names in _PUBLIC.items():
        if name in names:
            import importlib

            value: object = getattr(importlib.import_module(f"memctl.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'memctl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for names in _PUBLIC.values() for name in names)})
