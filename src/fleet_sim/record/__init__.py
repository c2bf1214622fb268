"""Recordings of runs in MCAP with ROS 2 messages, which need no ROS; the inputs of a run; films."""
