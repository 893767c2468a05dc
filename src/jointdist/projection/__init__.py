"""A signed distribution becomes a proper one."""
