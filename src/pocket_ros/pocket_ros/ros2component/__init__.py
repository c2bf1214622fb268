"""`ros2 component`, which is not covered."""
