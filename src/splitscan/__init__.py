"""splitscan reads record files in parallel on Spark, each record exactly once, and proves it."""
