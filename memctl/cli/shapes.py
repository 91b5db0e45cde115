"""The shape of every JSON report, in one table: the manual's page `output` is printed from it.

`SHAPES` maps a command line to its (key, type, meaning) rows in the order in which they are printed. A key
with a dot is inside the object before the dot, with `[]` in each object of that list. Keys may be added,
never renamed.
"""

from __future__ import annotations

SHAPES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "append --json": (
        ("conversation", "text", "the conversation, as a reference"),
        ("appended", "number", "messages that were stored"),
        (
            "duplicates",
            "number",
            "messages whose id was stored before with the same content; not stored again",
        ),
        ("skipped_ephemeral", "number", "messages marked ephemeral; not stored"),
        ("skipped_invalid", "list", "with --skip-invalid: the input lines that were left out"),
        ("skipped_invalid[].line", "number", "line of the input, from 1"),
        ("skipped_invalid[].detail", "text", "what is wrong with it"),
        ("healed", "text or null", "what was done to a damaged tail before the append"),
        ("go_unreadable", "list", "lines at which the Go reader stops: line and reason"),
        ("offset", "number", "where in the file the first new line begins, in bytes"),
        ("bytes", "number", "bytes that were written"),
        ("ids", "list of text", "ids of the input's messages, in order"),
        ("ephemeral", "list", "the ephemeral messages themselves"),
    ),
    "window --explain": (
        ("conversation", "text", "the conversation, as a reference or path"),
        ("messages", "number", "messages in the window"),
        ("tokens", "number", "their tokens"),
        ("budget", "number", "what they had to fit in; 0 is no limit"),
        ("over_budget", "true or false", "whether what is always kept is more than the budget"),
        ("first", "number or null", "index of the first message after head and summary"),
        ("anchor", "number or null", "index of the user message put in front of a cut turn"),
        ("summary", "number or null", "index of the summary"),
        ("covered", "number", "messages that the summary stands for"),
        ("cut", "number", "messages cut off because they did not fit"),
        ("left_out", "list", "what is not covered and cannot be sent"),
        ("left_out[].line", "number", "line of the file, from 1"),
        ("left_out[].code", "text", "why"),
        ("summary_shortened", "true or false", "whether the summary was cut to fit"),
        ("counter", "text", "how tokens were counted"),
    ),
    "list -f jsonl": (
        ("user", "text", ""),
        ("conversation", "text", ""),
        ("messages", "number", ""),
        ("bytes", "number", "size of the file"),
        ("updated_at", "text", "the file's modification time, RFC 3339, whole seconds"),
        ("last_role", "text or null", "role of the last message"),
        ("summaries", "number", ""),
        ("problems", "number", "lines that cannot be read"),
    ),
    "count --json": (
        ("messages", "number", ""),
        ("tokens", "number", "tokens of the whole log"),
        ("window_tokens", "number or null", "with --window: tokens of the window"),
        ("by_role", "object", "role -> tokens"),
        ("counter", "text", "how tokens were counted"),
    ),
    "activities --json": (
        ("conversation", "text", "the conversation, as a reference"),
        ("activities", "list", "the activities, as they are stored"),
        ("replaced", "true or false", "whether --set replaced them"),
    ),
    "drop --json": (
        ("conversation", "text", "the conversation, as a reference"),
        ("applied", "true or false", "false without --yes: this is the plan"),
        ("dropped", "list of text", "ids of the messages, calls with their results"),
        ("quarantined_bytes", "number", "bytes that were set aside"),
        ("summaries_rewritten", "number", "later summaries whose range was computed anew"),
    ),
    "delete --json": (
        ("conversation", "text", "the conversation, as a reference"),
        ("applied", "true or false", "false without --yes: this is the plan"),
        ("messages", "number", ""),
        ("bytes", "number", "size of the file"),
        ("trash", "text or null", "where it went; null with --hard"),
    ),
    "trash list --json": (
        ("user", "text", ""),
        ("conversation", "text", ""),
        ("deleted_at", "text", "RFC 3339"),
        ("bytes", "number", "size of the file"),
        ("entry", "text", "name of the entry in trash/USER"),
    ),
    "trash restore --json": (
        ("conversation", "text", "the conversation, as a reference"),
        ("restored", "true or false", ""),
        ("entry", "text", "name of the entry in trash/USER"),
    ),
    "quarantine list --json": (
        ("id", "text", "what show and restore take"),
        ("user", "text", ""),
        ("conversation", "text", ""),
        ("code", "text", "why it was set aside"),
        ("line", "number", "where it was, from 1"),
        ("offset", "number", "where it was, in bytes"),
        ("bytes", "number", "how much it is"),
        ("quarantined_at", "text", "RFC 3339"),
    ),
    "quarantine restore --json": (
        ("id", "text", ""),
        ("conversation", "text", "the conversation, as a reference"),
        ("restored", "true or false", ""),
    ),
    "rebuild-index --json": (
        ("users", "number", ""),
        ("conversations", "number", ""),
        ("messages", "number", ""),
        ("records", "number", ""),
        ("added", "number", "entries that were missing"),
        ("removed", "number", "entries that belonged to nothing"),
        ("differences", "list", "with --check: where cache and files disagree"),
    ),
    "config --json": (
        ("root", "text", "the store, as an absolute path"),
        ("settings", "list", "every setting"),
        ("settings[].name", "text", ""),
        ("settings[].value", "number or text", "in the unit of the name; durations in seconds"),
        ("settings[].default", "number or text", ""),
        ("settings[].origin", "text", "default, flag --NAME, a variable, or a path"),
        ("settings[].variable", "text", "the environment variable that sets it"),
        ("settings[].help", "text", ""),
    ),
    "config --init --json": (("created", "text", "path of the file"),),
    "errors (on standard error)": (
        ("error", "object", "with --json or -f json|jsonl"),
        ("error.code", "text", "a word that does not change: memctl help exit-codes"),
        ("error.exit", "number", "the exit code"),
        ("error.message", "text", "for people; may change"),
        ("error.hint", "text", "what to try next, may be empty"),
    ),
}


def keys(command: str) -> tuple[str, ...]:
    """The top-level keys of a report, in order; `command` as in the table."""
    return tuple(key for key, _, _ in SHAPES[command] if "." not in key)
