"""Storage: bytes from somewhere, over fsspec."""
