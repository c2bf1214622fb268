"""Where orders come from besides Python and ROS: one source per file.

A source makes orders at their times, from a file or from keyed random numbers: the same seed makes the same orders,
whatever else happens in the run.
"""
