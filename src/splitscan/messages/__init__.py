"""Messages as rows: one message is one record, and its value is decoded as the record formats decode theirs."""

from splitscan.messages.reader import scan_messages
from splitscan.messages.spec import MessageSpec, make_message_spec

__all__ = ["MessageSpec", "make_message_spec", "scan_messages"]
