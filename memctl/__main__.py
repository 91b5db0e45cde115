"""`memctl` and `python -m memctl`."""

from __future__ import annotations

import gc

# Importing and parsing make tens of thousands of objects that live as long as the process; looking through
# them for garbage costs a sixth of a call. `cli.app` switches the collector on before a command runs.
gc.disable()


def main() -> int:
    """Run the command line in `sys.argv` and end the process with its exit code; returns only beside threads.

    `memctl.cli.guard.main` does the same inside a program that goes on.
    """
    _insist_on_utf8()
    from memctl.cli import guard

    exit_code = guard.main()
    import os
    import threading

    if threading.active_count() == 1:
        import atexit

        # All output is flushed by now. Taking the interpreter apart would cost 5 ms more, and frees only
        # memory, which the operating system does at once.
        atexit._run_exitfuncs()
        os._exit(exit_code)
    return exit_code


def _insist_on_utf8() -> None:
    """Start anew in UTF-8 mode where arguments and file names would be read as ASCII or another code."""
    import sys

    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        import os

        arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
        os.execv(sys.executable, [os.fsencode(sys.executable), b"-X", b"utf8", b"-m", b"memctl", *arguments])


if __name__ == "__main__":
    import sys

    sys.exit(main())
