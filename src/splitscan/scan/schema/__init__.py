"""Schemas: found in samples, merged over files, hinted at, provided in part, and explained."""
