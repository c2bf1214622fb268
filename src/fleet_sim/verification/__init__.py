"""Verification that runs on this machine are those of any other, bit for bit: hashes of every shipped scenario.

`errand.py` gives idle robots something to do, `trace.py` hashes a run step by step, `table.py` keeps the hashes of all
scenarios in `hashes.json` and finds the first difference.
"""
