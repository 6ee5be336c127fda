"""Tar and zip archives as directories of files: their members are listed, opened and read where they lie.

The only room that knows what a member is. Everybody else sees a file whose path is ``archive!/member``.
"""
