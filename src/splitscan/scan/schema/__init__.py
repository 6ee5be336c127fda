"""Schemas: found in samples, discovered in readers, merged over files, hinted at, provided in part, and explained."""
