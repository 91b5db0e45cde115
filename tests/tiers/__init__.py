"""Passes over the tiers: what moves, what is written, what a kill or a crowd leaves."""
