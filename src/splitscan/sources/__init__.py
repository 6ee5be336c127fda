"""Sources: what is read."""
