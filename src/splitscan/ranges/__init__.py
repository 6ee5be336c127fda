"""Range trackers: who may read up to where."""
