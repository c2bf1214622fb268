"""Mesh files: one reader for everything that uses meshes.

`mesh.py` is what every reader returns; `formats.py` lists the formats, one file each; `loading.py` reads files and
measures them; `limits.py` checks files before they are read. Boxes, lidars and cameras all use `load_mesh`, so they
cannot disagree about a file. `primitives.py` makes the meshes that need no file.
"""
