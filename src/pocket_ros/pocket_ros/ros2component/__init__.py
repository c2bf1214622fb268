"""`ros2 component` for other programs."""
