"""Records of a fixed length, and slices of any file."""
