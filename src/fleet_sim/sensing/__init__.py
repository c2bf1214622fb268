"""What touches, what is seen and what is measured: collisions, queries, sensors."""
