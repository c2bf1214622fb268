"""The messages of each version of the standard, as tables: checking, decoding and encoding are made of them.

A table names each field of a message, its shape and where its value comes from; a version is a choice of tables
(`versions.py`), so a new one is written as its differences.
"""
