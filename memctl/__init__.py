"""memctl: what language-model agents remember, in plain files.

The public names are resolved on first use (PEP 562), so `import memctl` costs next to nothing.
"""

# Type checkers take this name for true; importing typing for it would cost more than all the rest here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from memctl.api import Conversation as Conversation
    from memctl.api import Store as Store
    from memctl.api.cognitive import CognitiveMemory as CognitiveMemory
    from memctl.api.memory import Memory as Memory
    from memctl.api.message_record import message_record as message_record
    from memctl.api.record_fields import RecordFields as RecordFields
    from memctl.api.tier_store import CompositeStore as CompositeStore
    from memctl.api.tier_store import InMemoryStore as InMemoryStore
    from memctl.api.tier_store import TierStore as TierStore
    from memctl.core.budget import RecallBudget as RecallBudget
    from memctl.core.budget import RecallWeights as RecallWeights
    from memctl.core.chat_message import ChatMessage as ChatMessage
    from memctl.core.chat_message import ToolCall as ToolCall
    from memctl.core.cognitive import CognitiveRecord as CognitiveRecord
    from memctl.core.level import Level as Level
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
    from memctl.core.migration import Move as Move
    from memctl.core.names import Reference as Reference
    from memctl.core.namespace import Namespace as Namespace
    from memctl.core.observing import MigrationObserver as MigrationObserver
    from memctl.core.observing import Unheard as Unheard
    from memctl.core.recall_answer import Recalled as Recalled
    from memctl.core.record import Record as Record
    from memctl.core.reference_rule import TokenCounter as TokenCounter
    from memctl.core.reference_rule import select_window as select_window
    from memctl.core.tiering import Policy as Policy
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
    from memctl.errors import InTheWay as InTheWay
    from memctl.errors import LockTimeout as LockTimeout
    from memctl.errors import MemctlError as MemctlError
    from memctl.errors import NotFound as NotFound
    from memctl.errors import Overtaken as Overtaken
    from memctl.errors import StorageError as StorageError
    from memctl.errors import StrictFinding as StrictFinding
    from memctl.errors import Unavailable as Unavailable
    from memctl.errors import UsageError as UsageError
    from memctl.ops.append import Appended as Appended
    from memctl.ops.count import Counted as Counted
    from memctl.ops.delete import Deleted as Deleted
    from memctl.ops.drop import Dropped as Dropped
    from memctl.ops.events import Events as Events
    from memctl.ops.forget import Forgotten as Forgotten
    from memctl.ops.inspect import Inspected as Inspected
    from memctl.ops.inspect import Inspection as Inspection
    from memctl.ops.listing import Listed as Listed
    from memctl.ops.listing import Listing as Listing
    from memctl.ops.pin import Pinned as Pinned
    from memctl.ops.purge import Purged as Purged
    from memctl.ops.quarantine import Restored as Restored
    from memctl.ops.read import Log as Log
    from memctl.ops.rebuild import Rebuilt as Rebuilt
    from memctl.ops.recalled import Recall as Recall
    from memctl.ops.reconcile import MigrationReport as MigrationReport
    from memctl.ops.reconcile import Passed as Passed
    from memctl.ops.records import Records as Records
    from memctl.ops.remember import Remembered as Remembered
    from memctl.ops.repaired import Repaired as Repaired
    from memctl.ops.repaired import Repairs as Repairs
    from memctl.ops.searched import Match as Match
    from memctl.ops.searched import Search as Search
    from memctl.ops.stats import Stats as Stats
    from memctl.ops.stats import UserStats as UserStats
    from memctl.settings import Settings as Settings
    from memctl.store.history import Event as Event
    from memctl.store.trash import Trashed as Trashed

__version__ = "0.1.0"

#: Module below this package -> the public names that it holds.
_PUBLIC = {
    "api": ("Conversation", "Store"),
    "api.cognitive": ("CognitiveMemory",),
    "api.memory": ("Memory",),
    "api.message_record": ("message_record",),
    "api.record_fields": ("RecordFields",),
    "api.tier_store": ("CompositeStore", "InMemoryStore", "TierStore"),
    "core.budget": ("RecallBudget", "RecallWeights"),
    "core.chat_message": ("ChatMessage", "ToolCall"),
    "core.cognitive": ("CognitiveRecord",),
    "core.level": ("Level",),
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
    "core.migration": ("Move",),
    "core.names": ("Reference",),
    "core.namespace": ("Namespace",),
    "core.observing": ("MigrationObserver", "Unheard"),
    "core.recall_answer": ("Recalled",),
    "core.record": ("Record",),
    "core.reference_rule": ("TokenCounter", "select_window"),
    "core.tiering": ("Policy",),
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
        "InTheWay",
        "LockTimeout",
        "MemctlError",
        "NotFound",
        "Overtaken",
        "StorageError",
        "StrictFinding",
        "Unavailable",
        "UsageError",
    ),
    "ops.append": ("Appended",),
    "ops.count": ("Counted",),
    "ops.delete": ("Deleted",),
    "ops.drop": ("Dropped",),
    "ops.events": ("Events",),
    "ops.forget": ("Forgotten",),
    "ops.inspect": ("Inspected", "Inspection"),
    "ops.listing": ("Listed", "Listing"),
    "ops.pin": ("Pinned",),
    "ops.purge": ("Purged",),
    "ops.quarantine": ("Restored",),
    "ops.read": ("Log",),
    "ops.rebuild": ("Rebuilt",),
    "ops.recalled": ("Recall",),
    "ops.reconcile": ("MigrationReport", "Passed"),
    "ops.records": ("Records",),
    "ops.remember": ("Remembered",),
    "ops.repaired": ("Repaired", "Repairs"),
    "ops.searched": ("Match", "Search"),
    "ops.stats": ("Stats", "UserStats"),
    "settings": ("Settings",),
    "store.history": ("Event",),
    "store.trash": ("Trashed",),
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
