"""The command line: streams, exit codes, settings, help."""
