"""Who serves which order: one allocator per file."""
