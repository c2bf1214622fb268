"""Helpers for messages of sensor_msgs."""
