"""Lines of text, with any delimiter and escapes."""
