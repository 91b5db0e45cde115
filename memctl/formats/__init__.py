"""Forms of a conversation: other programs' files, and what memctl prints for services and for people."""
