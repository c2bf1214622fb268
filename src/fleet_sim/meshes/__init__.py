"""Mesh files: one reader for all who ask what is in them.

`mesh.py` is what every reader returns; `formats.py` lists the formats, one file each; `loading.py` reads files and
measures them; `limits.py` judges files before they are read. Boxes, lidars and cameras all use `load_mesh`, so they
cannot disagree about a file. `primitives.py` makes the meshes that need no file.
"""
