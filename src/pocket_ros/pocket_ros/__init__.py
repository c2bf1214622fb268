"""The ROS 2 Python client API on Eclipse Cyclone DDS.

Importing this package is cheap and has no effect: the interpreter imports it at every start, through
the installed `pocket_ros.pth`, to register the import finder of `pocket_ros._finder`. That is also before
pytest, which is told so: PYTEST_DONT_REWRITE.
"""

__version__ = "0.1.0"
