"""Pages and pictures that need nothing else: no script, no font, no file beside them."""
