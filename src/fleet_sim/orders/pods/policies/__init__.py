"""Which pod serves, where it is stored again, and when stock is ordered: one kind of policy per file."""
