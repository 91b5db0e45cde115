"""The sessions in README.md: their commands, replayed in fresh directories, and what they print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
README = CHECKOUT / "README.md"
SAMPLES = CHECKOUT / "sample_conversations"
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


def sections(text: str) -> list[str]:
    """The page cut before each heading of the second level."""
    return re.split(r"^(?=## )", text, flags=re.MULTILINE)


def replayed(text: str, directory: Path, environment: Mapping[str, str]) -> str:
    """The page with the output that its commands print now.

    The commands of a section run one after the other in a directory of its own in `directory`, named after
    its heading; where they name the samples, these are there, as in a clone. `environment` is the whole
    environment of the shell; `memctl` is put in front of its path.
    """
    tools = installed(directory.parent / "tools")
    path = os.pathsep.join((str(tools), environment["PATH"]))
    return "".join(
        _replayed(section, directory, {**environment, "PATH": path}) if blocks(section) else section
        for section in sections(text)
    )


def installed(tools: Path) -> Path:
    """A directory for a path, with `memctl` in it."""
    tools.mkdir()
    memctl = tools / "memctl"
    memctl.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memctl "$@"\n')
    memctl.chmod(0o755)
    return tools


def _replayed(section: str, directory: Path, environment: Mapping[str, str]) -> str:
    wanted = [command for block in blocks(section) for command in commands(block)]
    own = directory / section.partition("\n")[0].lstrip("# ").lower().replace(" ", "-")
    own.mkdir()
    if any(f"{SAMPLES.name}/" in command for command in wanted):
        shutil.copytree(SAMPLES, own / SAMPLES.name)
    script = "".join(f"{command}\nprintf '{_MARK}'\n" for command in wanted)
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=own,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    outputs = iter(done.stdout.decode().split(_MARK))
    return _BLOCK.sub(lambda block: "".join(_shown(c, next(outputs)) for c in commands(block[0])), section)


def _shown(command: str, output: str) -> str:
    first, *others = command.split("\n")
    lines = [f"$ {first}", *(f"> {line}" for line in others), *output.rstrip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)
