"""Squares: several worlds stepped together, each to the bit as if it were stepped alone.

Small worlds spend their time on calling NumPy, not in it. Here the worlds of a search stand in the columns of one
board, each in a square of its own, and a step of all of them is one step of the board. Read `together.py`, then
`board.py` and `board_step.py`.
"""
