"""Rules: values in, values out. No disk, clock, environment or randomness in here."""
