"""Message classes, definitions, type hashes and CDR."""
