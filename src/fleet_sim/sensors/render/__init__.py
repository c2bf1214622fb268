"""Pictures of the world: colors, depth and ids, by renderers that share one seam.

`renderer.py` is the seam and the choice between them; `gl/` rasterises straight from the columns, `tiny.py` asks
PyBullet.
"""
