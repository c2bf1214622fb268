"""fleet_sim in ROS 2. Read `node.py` first; there is one file per interface, and rclpy is imported only here.

`interfaces.py` lists the interfaces in the order in which they are called; `interface.py` is their base class. A step
takes what has arrived (`receive`), moves the world, and sends what is due (`publish`); `commands.py` is the way in for
callbacks of other threads.
"""
