"""The product's application with one raw WebSocket beside it."""

import asyncio
from typing import Any

from gangline.config.asgi import application as product

SOCKET = "/bench/socket"


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "websocket" or scope["path"] != SOCKET:
        await product(scope, receive, send)
        return
    from bench import changing

    queue: asyncio.Queue[str] = asyncio.Queue()
    await receive()
    await send({"type": "websocket.accept"})
    changing.sockets[queue] = asyncio.get_running_loop()
    leaving = asyncio.create_task(receive())
    try:
        while not leaving.done():
            try:
                text = await asyncio.wait_for(queue.get(), 0.5)
            except TimeoutError:
                continue
            await send({"type": "websocket.send", "text": text})
    finally:
        del changing.sockets[queue]
        leaving.cancel()
