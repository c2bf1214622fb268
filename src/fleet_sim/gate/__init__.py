"""The gate: what of the world outside may come in. Bounds of numbers, sizes of texts, names and files from afar."""
