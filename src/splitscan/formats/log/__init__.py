"""Log records: lines that begin with a pattern, each with the lines after it; named groups are columns."""
