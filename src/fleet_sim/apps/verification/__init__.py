"""Verification that runs on this machine are those of any other, bit for bit: hashes of every shipped scenario.

`trace.py` hashes a run step by step, keeps the hashes of all scenarios in `hashes.json` and finds the first difference.
"""
