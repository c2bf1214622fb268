"""The commands, one file a group of verbs; each has `add_arguments(parser)`."""
