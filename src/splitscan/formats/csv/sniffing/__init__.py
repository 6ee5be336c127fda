"""Setting the dialect of CSV files by looking at samples of them. Pure: bytes in, settings out."""
