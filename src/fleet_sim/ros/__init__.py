"""fleet_sim in ROS 2: one file per subject; rclpy is imported here, and in the files of products that speak ROS.

`node.py` is to be read first. It lists the interfaces in the order in which they are called; `interface.py` is their
base class. A step takes what has arrived (`receive`), moves the world, and sends what is due (`publish`);
`commands.py` is the way in for callbacks of other threads.
"""

from fleet_sim.base.errors import end_silently_at_ctrl_c


def start() -> int:
    """Run `main.main`; Ctrl-C while it is being imported ends the program without a traceback."""
    end_silently_at_ctrl_c()
    from fleet_sim.ros.main import main

    return main()
