"""The process that keeps the claim log: its server, its start and its end.

What only that process needs (``server``) is not imported here: every reader's process imports this.
"""

from splitscan.rebalance.coordinator.process import (
    CoordinatorProcess,
    ListenAddress,
    SharedCoordinator,
    shared_coordinator,
    start_coordinator,
)

__all__ = [
    "CoordinatorProcess",
    "ListenAddress",
    "SharedCoordinator",
    "shared_coordinator",
    "start_coordinator",
]
