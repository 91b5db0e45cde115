"""`python -m tests.docs.refresh`: make the tables and the session's output in README.md anew."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.docs.session import CHECKOUT, README, replayed
from tests.docs.tables import with_tables


def main() -> None:
    """Rewrite README.md in place."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name, "empty")
        directory.mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CHECKOUT),
            "HOME": name,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        text = replayed(with_tables(README.read_text(encoding="utf-8")), directory, environment)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
