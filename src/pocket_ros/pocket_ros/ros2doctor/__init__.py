"""`ros2 doctor`, which is not covered."""
