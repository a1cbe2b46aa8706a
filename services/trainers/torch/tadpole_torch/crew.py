"""The runners of a server, seen from the server: one process, or one per device, that together make one update at a time."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tadpole_torch.errors import TrainerError

LINE_BYTES = 1 << 26
"""A `done` event lists every file of a checkpoint on one line."""


@dataclass(frozen=True)
class CrewSettings:
    dtype: str
    pack_tokens: int
    gradient_checkpointing: bool
    cpu: bool
    threads: int | None
    """None = as many as this process may use."""
    ranks: int


class Crew:
    def __init__(self, settings: CrewSettings) -> None:
        self._settings = settings
        self._members: list[asyncio.subprocess.Process] = []
        self._running = False
        self.known: dict[str, Any] | None = None
        """{devices, torch}, as the runners said when they were first ready."""
        self._ooms = 0

    async def start(self) -> None:
        """Starts the runners where they do not run."""
        if not self._running or any(member.returncode is not None for member in self._members):
            self.kill()
            port = _free_port()
            self._ooms = _oom_kills()
            self._members = [await self._spawn(rank, port) for rank in range(self._settings.ranks)]
            self.known = await self._next_event()
            self._running = True

    async def _spawn(self, rank: int, port: int) -> asyncio.subprocess.Process:
        settings = self._settings
        given = {
            "parent": os.getpid(),
            "rank": rank,
            "ranks": settings.ranks,
            "dtype": settings.dtype,
            "packTokens": settings.pack_tokens,
            "gradientCheckpointing": settings.gradient_checkpointing,
            "cpu": settings.cpu,
            "threads": settings.threads,
        }
        environment = {
            **os.environ,
            "TADPOLE_TORCH_RUNNER": json.dumps(given),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")])),
        }
        environment.pop("TADPOLE_TRAINER_TOKEN", None)
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tadpole_torch.runner",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            limit=LINE_BYTES,
        )

    async def update(self, order: dict[str, Any], progress: Callable[[int, int], None]) -> dict[str, Any]:
        """`TrainedFile` of the order. Raises TrainerError; a runner that ended counts as one."""
        await self.start()
        line = (json.dumps(order) + "\n").encode()
        for member in self._members:
            assert member.stdin is not None
            member.stdin.write(line)
        while True:
            event = await self._next_event()
            if event["event"] == "progress":
                progress(event["done"], event["total"])
            elif event["event"] == "done":
                return event["trained"]
            else:
                if len(self._members) > 1:
                    # The others wait for the one that failed.
                    self.kill()
                raise TrainerError(event["kind"], event["message"])

    async def _next_event(self) -> dict[str, Any]:
        """Of whichever runner says one first."""
        reads = [asyncio.ensure_future(member.stdout.readline()) for member in self._members if member.stdout is not None]
        try:
            done, _ = await asyncio.wait(reads, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for read in reads:
                if not read.done():
                    read.cancel()
        line = next(iter(done)).result()
        if line:
            return json.loads(line)
        raise await self._ended()

    async def _ended(self) -> TrainerError:
        ended = next((member for member in self._members if member.returncode is not None), self._members[0])
        code = await ended.wait()
        self.kill()
        if code == -signal.SIGKILL and _oom_kills() > self._ooms:
            return TrainerError("memory", "the system ran out of memory and killed the update's process")
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return TrainerError("internal", f"the update's process {how}; its log says more")

    def kill(self) -> None:
        """At once; an update in progress leaves its `.incoming` folder at most, which the next attempt empties."""
        for member in self._members:
            if member.returncode is None:
                member.kill()
        self._running = False

    async def end(self) -> None:
        """As `kill`, and none of them writes any more."""
        self.kill()
        for member in self._members:
            await member.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _oom_kills() -> int:
    """Processes that the system has killed for want of memory since boot."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
