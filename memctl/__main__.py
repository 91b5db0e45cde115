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


if __name__ == "__main__":
    import sys

    sys.exit(main())
