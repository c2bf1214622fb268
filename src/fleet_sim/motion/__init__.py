"""How agents move: one law per file, on arrays of rows, reading and writing columns only."""
