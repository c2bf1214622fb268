"""When robots that serve orders charge, and where: one policy per class.

`policies.py` decides, `charging.py` takes robots to chargers and lets them wait there in turn.
"""
