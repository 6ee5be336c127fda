"""CSV: how its records are found, what their fields mean, and which columns a file has."""
