"""The messages of each version of the standard, as tables: checking, decoding and encoding are made of them."""
