"""Goods to person: robots carry pods, which are shelves with stock, to workstations and store them again.

`pods.py` is the way in. A pod's visit leads from its place in storage to a workstation and back (`floor.py`). Stock is
counted there, so that no item is promised twice.
"""
