"""The disk: one kind of file per module, and one module that writes."""
