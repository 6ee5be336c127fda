"""The reader of one block: a cursor over buffers, where the first record starts, and exactly the records of a range."""
