"""Kinematics: where the links of robots are, and which joint values bring a link to a place; many robots at once."""
