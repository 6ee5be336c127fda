"""Reading what is claimed: from a plan to segments, from chunks of positions to ranges of files and their rows."""
