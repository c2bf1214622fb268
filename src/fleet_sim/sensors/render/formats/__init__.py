"""Mesh files: one format per file, and the list of them in `loading.py`."""
