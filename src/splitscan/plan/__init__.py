"""Planning: files are listed, cut into blocks, and packed into tasks."""
