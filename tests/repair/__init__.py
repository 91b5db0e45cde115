"""What inspect finds and repair does, held as rules."""
