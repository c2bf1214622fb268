"""Pictures of the world: colors, depth and ids, by renderers that share one seam.

`renderer.py` is the seam and the choice between them; `gl.py` rasterises straight from the columns.
"""
