"""What is read: the files that paths name."""

from splitscan.sources.files import check_inside, find_root, list_files

__all__ = ["check_inside", "find_root", "list_files"]
