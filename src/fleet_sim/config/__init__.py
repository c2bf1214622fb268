"""The content of scenario files: sections, settings of a simulation and of its ROS interfaces, named choices."""
