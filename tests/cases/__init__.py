"""The cases: what must happen to damaged, odd and hostile conversation files."""
