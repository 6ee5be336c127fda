"""The works that are measured, each done by splitscan and by those peers that can read the input."""
