"""Mesh files: one reader for everything that uses meshes.

`mesh.py` is what every reader returns, and makes the meshes that need no file; `formats.py` has the formats; files are
checked, read and measured in `loading.py`. Boxes, lidars and cameras all use `load_mesh`, so they cannot disagree about
a file.
"""
