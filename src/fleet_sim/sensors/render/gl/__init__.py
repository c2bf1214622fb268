"""The rasteriser: draws the columns with OpenGL, on a GPU or in software. moderngl is imported here only."""
