"""Forward and inverse kinematics: link poses, and joint values that bring a link to a pose; many robots at once."""
