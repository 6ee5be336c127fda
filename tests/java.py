"""How Java is started for tests."""

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM of a test lives for seconds: the second compiler, which pays after minutes, was a third of its work."""
