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
    "list": Entry("cmd_list", "command", "Find", "List conversations, newest first."),
    "inspect": Entry("cmd_inspect", "command", "Care", "Say exactly what is wrong with files."),
    "repair": Entry("cmd_repair", "command", "Care", "Mend files; keep all that leaves them."),
    "rebuild-index": Entry("cmd_rebuild_index", "command", "Care", "Rebuild the caches from the files."),
    "count": Entry("cmd_count", "command", "The rest", "Count the tokens of a conversation."),
    "activities": Entry(
        "cmd_activities", "command", "The rest", "Print or replace a conversation's activities."
    ),
    "drop": Entry("cmd_drop", "command", "The rest", "Remove single messages, to quarantine."),
    "delete": Entry("cmd_delete", "command", "The rest", "Move a conversation to the trash."),
    "trash": Entry("cmd_trash", "command", "The rest", "List or restore deleted conversations."),
    "quarantine": Entry("cmd_quarantine", "command", "The rest", "List, show or restore what was set aside."),
    "config": Entry("cmd_config", "command", "The rest", "Print every setting, its value and its origin."),
    "help": Entry("cmd_help", "command", "The rest", "Print a page of the manual, or a command's help."),
}
