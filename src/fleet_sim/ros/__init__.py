"""fleet_sim in ROS 2. Read `node.py` first; there is one file per interface, and rclpy is imported only here."""
