"""Measurements, made on request: whole processes, and mutants that the tests have to kill."""
