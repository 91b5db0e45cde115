"""One use case per module: each orders its steps and owns its locks."""
