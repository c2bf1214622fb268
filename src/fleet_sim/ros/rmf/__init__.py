"""The topics and services of Open-RMF: what its simulation plugins speak.

They are there where the setting `rmf.enabled` says so, or where it says nothing and there are slotcars. What they ask
for is done by the package `rmf`.
"""
