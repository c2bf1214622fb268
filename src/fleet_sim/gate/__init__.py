"""The gate: what of the world outside may come in. Bounds of numbers, sizes of texts, names and files from afar.

What other processes send is checked by these functions before it is used: numbers, texts, file names, regular
expressions. What is too large or too long is refused with an error that says so.
"""
