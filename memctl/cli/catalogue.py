"""The commands: name, module, group and one line of help.

The root help is printed from this table alone, so that no command is imported for it; a command's module is
imported when it is called. This module imports nothing of the package.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Where a command is: the function `function` of the module `memctl.cli.MODULE`."""

    module: str
    function: str
    group: str
    help: str


#: The groups in the order of the help.
GROUPS = ("Every day", "Find", "Care", "Move", "The rest")

#: name -> entry, in the order of the help.
COMMANDS: dict[str, Entry] = {
    "append": Entry("cmd_append", "command", "Every day", "Store messages at the end of a conversation."),
    "window": Entry("cmd_window", "command", "Every day", "Print the messages to send, as many as fit."),
    "show": Entry("cmd_show", "command", "Every day", "Print a conversation for reading."),
    "recall": Entry("cmd_recall", "command", "Every day", "Print the records that answer a question."),
    "remember": Entry("cmd_remember", "command", "Every day", "Store records of the long-term memory."),
    "list": Entry("cmd_list", "command", "Find", "List conversations, newest first."),
    "search": Entry("cmd_search", "command", "Find", "Find messages by what they say."),
    "records": Entry("cmd_records", "command", "Find", "List the records of a user."),
    "inspect": Entry("cmd_inspect", "command", "Care", "Say exactly what is wrong with files."),
    "repair": Entry("cmd_repair", "command", "Care", "Mend files; keep all that leaves them."),
    "reconcile": Entry("cmd_reconcile", "command", "Care", "Move records between hot, warm and cold."),
    "rebuild-index": Entry("cmd_rebuild_index", "command", "Care", "Rebuild the caches from the files."),
    "get": Entry("cmd_get", "command", "The rest", "Print one record."),
    "pin": Entry("cmd_pin", "pin", "The rest", "Keep records in their tier."),
    "unpin": Entry("cmd_pin", "unpin", "The rest", "Let records move again."),
    "forget": Entry(
        "cmd_forget", "command", "The rest", "Remove records for good; keep them from returning."
    ),
    "count": Entry("cmd_count", "command", "The rest", "Count the tokens of a conversation."),
    "activities": Entry(
        "cmd_activities", "command", "The rest", "Print or replace a conversation's activities."
    ),
    "drop": Entry("cmd_drop", "command", "The rest", "Remove single messages, to quarantine."),
    "delete": Entry("cmd_delete", "command", "The rest", "Move a conversation to the trash."),
    "trash": Entry("cmd_trash", "command", "The rest", "List or restore deleted conversations."),
    "quarantine": Entry("cmd_quarantine", "command", "The rest", "List, show or restore what was set aside."),
    "stats": Entry("cmd_stats", "command", "The rest", "Print how much each user's memory holds."),
    "events": Entry("cmd_events", "command", "The rest", "Print what happened, oldest first."),
    "purge": Entry("cmd_purge", "command", "The rest", "Remove for good what is kept aside."),
    "config": Entry("cmd_config", "command", "The rest", "Print every setting, its value and its origin."),
    "help": Entry("cmd_help", "command", "The rest", "Print a page of the manual, or a command's help."),
}
