"""One call of the command line: where the store is, how to talk, what time it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memctl.api import Store
    from memctl.api.memory import Memory
    from memctl.cli.output import Output
    from memctl.settings import Settings


class Invocation:
    """What the global options and the environment say; `ctx.obj` of every command.

    `root` is absolute; `now_us` is microseconds since 1970 or None for the clock. Settings are read on first
    use, so that `help` works beside a broken configuration file.
    """

    def __init__(self, out: Output, environ: Mapping[str, str] | None = None) -> None:
        self.out = out
        self.environ = os.environ if environ is None else environ
        self.tenant: str | None = None
        self.now_us: int | None = None
        self.run_id: str | None = None
        #: The global options, as typed, that a next command needs to mean the same.
        self.typed: list[str] = []
        self._root_flag: str | None = None
        self._config_file: str | None = None
        self._lock_timeout: str | None = None
        self._root: str | None = None
        self._settings: Settings | None = None

    def configure(
        self,
        *,
        root: str | None,
        tenant: str | None,
        config_file: str | None,
        lock_timeout: str | None,
        now: str | None,
        run_id: str | None,
        quiet: bool,
        verbose: bool,
    ) -> None:
        """Take the global options in; variables stand in for absent ones.

        Raises UsageError for a bad `--now`, BadConfig for a bad MEMCTL_NOW.
        """
        environ = self.environ
        self.out.quiet, self.out.verbose = quiet, verbose
        for name, value in (("--root", root), ("--tenant", tenant), ("--config", config_file)):
            if value is not None:
                self.typed += [f"{name}={value}"] if value.startswith("-") else [name, value]
        self._root_flag = root
        self._config_file = config_file or environ.get("MEMCTL_CONFIG") or None
        self._lock_timeout = lock_timeout
        self.tenant = tenant if tenant is not None else environ.get("MEMCTL_TENANT") or None
        self.run_id = run_id if run_id is not None else environ.get("MEMCTL_RUN_ID") or None
        given = now if now is not None else environ.get("MEMCTL_NOW")
        if given:
            self.now_us = _time(given, is_flag=now is not None)
        elif now is not None:
            self.now_us = _time(now, is_flag=True)

    @property
    def quiet(self) -> bool:
        return self.out.quiet

    @property
    def verbose(self) -> bool:
        return self.out.verbose

    @property
    def root(self) -> str:
        """The absolute path of the store, links resolved once."""
        if self._root is None:
            from memctl.cli.config import resolve_root

            self._root = resolve_root(self._root_flag, self.environ)
        return self._root

    @property
    def settings(self) -> Settings:
        """The settings of this call; raises BadConfig or UsageError on first use."""
        if self._settings is None:
            from memctl.cli.config import load

            self._settings = load(
                self.root, self.environ, config_file=self._config_file, lock_timeout=self._lock_timeout
            )
        return self._settings

    def store(self) -> Store:
        """The store at `root`, with this call's tenant, settings, clock and run id."""
        from memctl.api import Store
        from memctl.core.names import reference_part

        self.out.detail(f"the store is {self.root}")
        tenant = None if self.tenant is None else reference_part(self.tenant, "tenant")
        return Store(self.root, tenant=tenant, settings=self.settings, now_us=self.now_us, run_id=self.run_id)

    def memory(self, user: str) -> Memory:
        """The memory of a user as one is typed, `%XX` decoded. Raises BadReference."""
        store = self.store()
        return store.memory(store.setup.reference(user, conversation=False).user)


def _time(text: str, *, is_flag: bool) -> int:
    from memctl.cli.config import parse_time_us
    from memctl.errors import BadConfig, UsageError

    try:
        return parse_time_us(text)
    except (ValueError, OverflowError):
        what = "expected RFC 3339, Unix seconds, or milliseconds above 10^11"
        if is_flag:
            raise UsageError(f"--now {text!r}: {what}") from None
        raise BadConfig(f"MEMCTL_NOW = {text!r}: {what}") from None
