"""What all tests share: the command in a child process with an environment of its own, and a store."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """Compile the package first: a child that may write small files only would leave half compiled ones."""
    compileall.compile_dir(CHECKOUT / "memctl", quiet=2)


class Memctl(Protocol):
    """`memctl("config", "--json", input=b"…", env={"NAME": "value"})`; output is bytes."""

    def __call__(
        self, *args: str | bytes, input: bytes = b"", env: dict[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[bytes]: ...


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A clean environment: home and XDG directories below `tmp_path`; of the caller's only the path."""
    home = tmp_path / "home"
    home.mkdir()
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONPATH": str(CHECKOUT),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


@pytest.fixture
def memctl(environment: dict[str, str], tmp_path: Path) -> Memctl:
    """Runs `python -m memctl` with the given arguments in `tmp_path`; `env` is added to the environment."""

    def run(
        *args: str | bytes, input: bytes = b"", env: dict[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[bytes]:
        options: dict[str, Any] = {"input": input, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options |= {"cwd": tmp_path, "timeout": 60, "env": environment | (env or {})} | more
        if "stdin" in options:
            del options["input"]
        return subprocess.run([sys.executable, "-m", "memctl", *args], check=False, **options)

    return run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The path of a store that is not there yet."""
    return tmp_path / "store"
