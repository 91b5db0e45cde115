"""Activities: a JSON array that memctl does not look into."""

from __future__ import annotations

from memctl.core import jsonl


def fault(data: bytes) -> str:
    """Why the bytes are not a JSON array, "" if they are one; `null` is the Go program's empty list."""
    if data.strip() == b"null":
        return ""
    try:
        constants = jsonl.Constants()
        value = jsonl.exact(data.decode("utf-8"), constants)
    except ValueError as error:
        return str(error)
    if constants:
        return f"{constants[0]} is not JSON"
    return "" if type(value) is list else "JSON, but not an array"
