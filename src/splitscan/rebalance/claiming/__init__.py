"""The claim log: the partition that reads each range. Pure: no sockets, no threads, no clock."""
