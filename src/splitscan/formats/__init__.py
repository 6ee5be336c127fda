"""Record formats: each folder holds everything that knows one of them. :mod:`.registry` finds them by name."""
