"""The session in README.md: its commands, replayed in an empty directory, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
README = CHECKOUT / "README.md"
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
#: Printed between two commands; no output of memctl holds it.
_MARK = "\x1e"


def blocks(text: str) -> list[str]:
    """The console blocks of a page."""
    return _BLOCK.findall(text)


def commands(block: str) -> list[str]:
    """The commands of a block: lines behind `$ `, with those behind `> ` that go on."""
    found: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
        elif line.startswith("> "):
            found[-1] += "\n" + line[2:]
    return found


def replayed(text: str, directory: Path, environment: Mapping[str, str]) -> str:
    """The page with the output that its commands print now, run one after the other in `directory`.

    `environment` is the whole environment of the shell; `memctl` is put in front of its path.
    """
    tools = directory.parent / "tools"
    tools.mkdir()
    memctl = tools / "memctl"
    memctl.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memctl "$@"\n')
    memctl.chmod(0o755)
    wanted = [command for block in blocks(text) for command in commands(block)]
    script = "".join(f"{command}\nprintf '{_MARK}'\n" for command in wanted)
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=directory,
        env={**environment, "PATH": os.pathsep.join((str(tools), environment["PATH"]))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    outputs = iter(done.stdout.decode().split(_MARK))
    return _BLOCK.sub(lambda block: "".join(_shown(c, next(outputs)) for c in commands(block[0])), text)


def _shown(command: str, output: str) -> str:
    first, *others = command.split("\n")
    lines = [f"$ {first}", *(f"> {line}" for line in others), *output.rstrip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)
