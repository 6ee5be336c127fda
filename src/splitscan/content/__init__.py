"""The bytes of a file: storage, codecs and archives, and what is kept of files from one scan to the next."""
