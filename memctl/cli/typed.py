"""What is typed behind options that several commands have, as values. Raises UsageError and BadName."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.errors import BadInput, BadReference, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.settings import Settings


def setting(settings: Settings, name: str, flag: str, text: str | None) -> Any:
    """The value of a setting that a flag gives, None where it is not given."""
    return None if text is None else settings.with_values({name: text}, f"flag {flag}")[name]


def metadata(pairs: Sequence[str] | None) -> dict[str, str]:
    """The metadata of `--meta K=V`."""
    from memctl.core.remembering import metadata_of

    try:
        return metadata_of(pairs or ())
    except BadInput as error:
        raise UsageError(f"--meta: {error}") from None


def tiers(names: Sequence[str] | None) -> tuple[str, ...]:
    """The tiers of `--tier T`."""
    from memctl.core.tier import TIERS

    for name in names or ():
        if name not in TIERS:
            raise UsageError(f"no tier {name}; there are {', '.join(TIERS)}")
    return tuple(names or ())


def conversation_name(text: str | None) -> str | None:
    """The conversation of `--conversation C`, `%XX` decoded."""
    from memctl.core.names import reference_part

    if text is not None and "/" in text:
        raise BadReference(
            f"--conversation takes the name of a conversation alone, not {text!r}",
            hint="leave the user out; a / inside a name is written %2F",
        )
    return None if text is None else reference_part(text, "conversation")
