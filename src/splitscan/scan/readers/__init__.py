"""What runs on the scan framework: the reader of framed and decoded records, and the plans of all readers."""
