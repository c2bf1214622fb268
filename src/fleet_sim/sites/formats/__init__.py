"""The files that sites are read from and written to, one format a file."""
