"""The command line: parse, call the library, hand the result to `output`; a thin layer over `memctl.api`."""
