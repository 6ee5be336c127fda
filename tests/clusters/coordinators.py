"""A coordinator in a thread of the test, where its limits can be changed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from splitscan.rebalance.claims import ClaimLog
from splitscan.rebalance.coordinator import Answerer, start_server
from splitscan.rebalance.messages import CoordinatorAddress


@contextmanager
def served(token: str, port: int = 0) -> Iterator[CoordinatorAddress]:
    """A coordinator that knows no scan; with a *port*, where another one was. Its connections end with it."""
    ready: Future[tuple[CoordinatorAddress, Any]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(token, port, ready)))
    thread.start()
    try:
        address, stop = ready.result()
        try:
            yield address
        finally:
            stop()
    finally:
        thread.join()


async def _serve(token: str, port: int, ready: Future[tuple[CoordinatorAddress, Any]]) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    try:
        server, bound = await start_server(Answerer(ClaimLog()), token, "127.0.0.1", port)
        address = CoordinatorAddress(*bound, token)
    except BaseException as error:
        ready.set_exception(error)
        return
    ready.set_result((address, lambda: loop.call_soon_threadsafe(stopped.set)))
    await stopped.wait()
    server.close()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))  # connections that are being accepted
    for transport in list(loop._transports.values()):
        transport.abort()
    await asyncio.sleep(0)  # they hear of it
