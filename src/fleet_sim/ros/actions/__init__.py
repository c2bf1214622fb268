"""Actions of robots in ROS 2: one file per action; `goals.py` handles a goal from acceptance to result.

A kind names its message type and makes an action of `fleet_sim.actions` from a goal; `kinds.py` has them by name. A
goal that cannot be carried out is rejected before it is accepted, with the reason in the log.
"""
