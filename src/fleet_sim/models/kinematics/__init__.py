"""Forward and inverse kinematics: link poses, and joint values that bring a link to a pose; many robots at once.

`tree.py` prepares a model once and computes link poses, `inverse.py` joint values. Results for a robot do not depend on
which others are computed with it, nor on compiled code.
"""
