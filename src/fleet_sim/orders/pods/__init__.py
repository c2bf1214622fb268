"""Goods to person: robots carry pods, which are shelves with stock, to workstations and store them again.

`pods.py` is the way in. A pod's visit (`visit.py`) leads from its place in storage (`storage.py`) to a workstation
(`benches.py`) and back. `stock.py` counts items, so that none is promised twice.
"""
