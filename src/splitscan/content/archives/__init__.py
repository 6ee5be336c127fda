"""Tar and zip archives as directories of files: their members are listed, opened and read where they lie.

The only room that knows what a member is. Everybody else sees a file whose path is ``archive!/member``.
"""

from splitscan.content.archives.directory import Archive, read_directory
from splitscan.content.archives.member import (
    MARK,
    ArchiveMember,
    MemberEncoding,
    MemberFault,
    archive_kind,
    in_directories,
    plain_name,
    split_member_path,
)
from splitscan.content.archives.opening import (
    CutOffMember,
    MemberSource,
    is_compressed_member,
    is_cut_off,
    is_member,
    member_codec,
    open_listed,
    open_member,
    open_planned,
    open_source,
)

__all__ = [
    "MARK",
    "Archive",
    "ArchiveMember",
    "CutOffMember",
    "MemberEncoding",
    "MemberFault",
    "MemberSource",
    "archive_kind",
    "in_directories",
    "is_compressed_member",
    "is_cut_off",
    "is_member",
    "member_codec",
    "open_listed",
    "open_member",
    "open_planned",
    "open_source",
    "plain_name",
    "read_directory",
    "split_member_path",
]
