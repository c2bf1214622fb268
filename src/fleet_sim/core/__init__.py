"""The simulation core: columns, the world made of them, and the pipeline that steps it."""
