"""States as files: values written as JSON and arrays, the forms of what is not a plain value, and the file itself.

`values.py` writes plain values, `forms.py` the rest, `archive.py` the file with its checksum. What is read is checked
before it becomes a world (`checks.py`), and no code from a file is run.
"""
