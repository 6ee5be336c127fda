"""Records of a fixed length, slices of any file, and columns at fixed places."""
