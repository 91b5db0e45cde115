"""What is said of tenants by commands that work on a whole store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.api import Store
    from memctl.cli.output import Output


def tell_of_tenants(store: Store, out: Output) -> None:
    """Say on standard error how many tenants a store has, which it was not looked into; nothing for none."""
    if number := store.tenants():
        from memctl.cli.output import counted

        were = "was" if number == 1 else "were"
        out.talk(f"{counted(number, 'tenant')} of the store {were} not looked at: --tenant T names one")
