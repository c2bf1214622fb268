"""Actions of robots in ROS 2: one file per action; `goals.py` handles a goal from acceptance to result."""
