"""Where orders come from besides Python and ROS: one source per file."""
