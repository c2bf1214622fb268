"""What a scenario file holds: its sections, the settings of a simulation and of its ROS interfaces, named choices."""
