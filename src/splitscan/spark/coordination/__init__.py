"""Coordination of a Spark session: where the coordinator listens, and how planners and readers find it."""
