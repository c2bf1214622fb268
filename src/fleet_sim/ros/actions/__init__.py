"""Actions of robots in ROS 2: one file per action; `goals.py` leads a goal from its acceptance to its result."""
