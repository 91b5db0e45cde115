"""The search index of a user: one SQLite file in the cache, made from the truth and caught up with it."""
