"""What the tests of this directory share with those of the command line."""

from __future__ import annotations

from tests.cli.conftest import terminal as terminal
