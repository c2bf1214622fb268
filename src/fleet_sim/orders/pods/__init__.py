"""Goods to person: robots carry pods, which are shelves with stock, to workstations and store them again."""
