"""The trainer process: JSON lines over a Unix domain socket, updates one at a time, found again by `session.json` and by their keys.

The protocol stands in services/trainers/protocol.ts. Who sends an update that is in progress joins it; one whose folder is there is
answered from it. An update goes on when the connection that asked for it is gone.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tadpole_torch import __version__
from tadpole_torch.checkpoint import incoming_of
from tadpole_torch.crew import LINE_BYTES, Crew
from tadpole_torch.errors import TrainerError, classified

TOKEN_VARIABLE = "TADPOLE_TRAINER_TOKEN"
FLUSH_SECONDS = 1
"""A client that reads nothing any more keeps no server from ending."""
SOCKET_BYTES = 107
"""Of a socket's path: https://man7.org/linux/man-pages/man7/unix.7.html."""


@dataclass
class Update:
    """One that was asked for and has not ended. Those who joined get every event from then on."""

    order: dict[str, Any]
    joined: list[tuple["Connection", int]] = field(default_factory=list)
    last_progress: dict[str, Any] | None = None

    def tell(self, event: dict[str, Any]) -> None:
        for connection, request in self.joined:
            connection.send({"id": request, **event})


class Connection:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def send(self, event: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write((json.dumps(event) + "\n").encode())

    def close(self) -> None:
        self._writer.close()

    async def end(self) -> None:
        """Once what was sent has left, as far as the other side reads it."""
        self.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), FLUSH_SECONDS)


class Server:
    def __init__(self, session: Path, token: str, crew: Crew) -> None:
        self._session = session
        self._token = token
        self._crew = crew
        self._updates: dict[str, Update] = {}
        self._current: str | None = None
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[Connection] = set()
        self._stopping = False
        self.ended = asyncio.Event()

    async def serve(self) -> None:
        """Until `stop` or SIGTERM. The update in progress at SIGTERM ends at once and leaves nothing half written."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self.ended.set)
        path = socket_path(self._session)
        path.unlink(missing_ok=True)
        listener = await asyncio.start_unix_server(self._connected, path, limit=LINE_BYTES)
        os.chmod(path, 0o600)
        write_session(self._session, path, self._token)
        self._keep(self._warm())
        try:
            await self.ended.wait()
        finally:
            listener.close()
            making = None if self._current is None else self._updates[self._current].order
            await self._crew.end()
            if making is not None:
                shutil.rmtree(incoming_of(Path(making["out"])), ignore_errors=True)
            for connection in list(self._connections):
                await connection.end()
            (self._session / "session.json").unlink(missing_ok=True)
            path.unlink(missing_ok=True)

    async def _warm(self) -> None:
        """Starts the runners before the first update; what goes wrong is told when one is asked for."""
        async with self._turn:
            try:
                await self._crew.start()
            except TrainerError as error:
                print(f"tadpole_torch: {error}", file=sys.stderr)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(writer)
        self._connections.add(connection)
        try:
            while line := await reader.readline():
                try:
                    request = json.loads(line)
                    number = request["id"]
                    if request["token"] != self._token:
                        raise PermissionError
                except PermissionError:
                    connection.send({"id": number, "event": "failed", "kind": "internal", "message": "the token is not this session's"})
                    return
                except (ValueError, KeyError, TypeError):
                    message = "expected a JSON object with id, token and op on one line"
                    connection.send({"id": 0, "event": "failed", "kind": "internal", "message": message})
                    return
                self._take(request, connection)
        except (ConnectionError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            self._connections.discard(connection)
            connection.close()

    def _take(self, request: dict[str, Any], connection: Connection) -> None:
        number, op = request["id"], request.get("op")
        if op == "hello":
            self._keep(self._hello(number, connection))
        elif op == "stop":
            self._stopping = True
            self._end_if_idle()
        elif op != "update":
            message = f"op is {op!r}, expected hello, update or stop"
            connection.send({"id": number, "event": "failed", "kind": "internal", "message": message})
        elif self._stopping and request.get("key") not in self._updates:
            connection.send({"id": number, "event": "failed", "kind": "internal", "message": "the trainer stops and takes no more updates"})
        else:
            self._join({key: value for key, value in request.items() if key not in ("id", "token", "op")}, number, connection)

    async def _hello(self, number: int, connection: Connection) -> None:
        try:
            ready = await self._ready()
        except TrainerError as error:
            connection.send({"id": number, "event": "failed", "kind": error.kind, "message": str(error)})
            return
        version = f"{__version__} (torch {ready['torch']})"
        connection.send(
            {"id": number, "event": "hello", "trainer": "torch", "version": version, "devices": ready["devices"], "busy": self._current}
        )

    async def _ready(self) -> dict[str, Any]:
        """Known once and for all after the first start: an update in progress must not keep a greeting waiting."""
        if self._crew.known is None:
            async with self._turn:
                await self._crew.start()
        assert self._crew.known is not None
        return self._crew.known

    def _join(self, order: dict[str, Any], number: int, connection: Connection) -> None:
        key = str(order.get("key"))
        update = self._updates.get(key)
        if update is None:
            update = self._updates[key] = Update(order)
            self._keep(self._make(key, update))
        update.joined.append((connection, number))
        if update.last_progress is not None:
            connection.send({"id": number, **update.last_progress})

    async def _make(self, key: str, update: Update) -> None:
        def progress(done: int, total: int) -> None:
            update.last_progress = {"event": "progress", "done": done, "total": total}
            update.tell(update.last_progress)

        async with self._turn:
            self._current = key
            try:
                event = {"event": "done", "trained": await self._crew.update(update.order, progress)}
            except Exception as error:
                failure = classified(error)
                event = {"event": "failed", "kind": failure.kind, "message": str(failure)}
            self._current = None
            del self._updates[key]
        # Ended from outside, the runner's death is no news.
        if not self.ended.is_set():
            update.tell(event)
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._stopping and not self._updates:
            self.ended.set()

    def _keep(self, work: Any) -> None:
        """asyncio itself keeps no task alive."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def socket_path(session: Path) -> Path:
    path = session / "socket"
    if len(os.fsencode(path)) <= SOCKET_BYTES:
        return path
    return Path(tempfile.mkdtemp(prefix="tadpole-torch-")) / "socket"


def write_session(session: Path, socket: Path, token: str) -> None:
    started = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    described = {"pid": os.getpid(), "started": started, "token": token, "socket": str(socket), "trainer": "torch"}
    new = session / "session.json.new"
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(json.dumps(described) + "\n")
    new.rename(session / "session.json")
