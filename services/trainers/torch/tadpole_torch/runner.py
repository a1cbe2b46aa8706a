"""The process that computes updates for a server: orders as JSON lines on its standard input, events as JSON lines on its standard output.

A process of its own, so that the server answers while it computes, outlives it when memory runs out, and can end it at any time.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TextIO

import torch

from tadpole_torch.device import Place, device_names, join_group, make_repeatable
from tadpole_torch.errors import classified
from tadpole_torch.update import Session, parse_order, run_update

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """A server that was killed leaves no runner that goes on writing. https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html"""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def take_stdout() -> TextIO:
    """Standard output for events alone: what a library prints goes to standard error."""
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return events


def run(orders: TextIO, say: Callable[[dict[str, Any]], None], session: Session) -> None:
    for line in orders:
        given = json.loads(line)
        try:
            trained = run_update(parse_order(given), session, lambda done, total: say({"event": "progress", "done": done, "total": total}))
            say({"event": "done", "trained": trained})
        except Exception as error:
            failure = classified(error)
            if failure.kind in ("internal", "collective"):
                sys.excepthook(type(error), error, error.__traceback__)
            say({"event": "failed", "kind": failure.kind, "message": str(failure)})
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def main() -> None:
    given = json.loads(os.environ["TADPOLE_TORCH_RUNNER"])
    die_with_parent(given["parent"])
    # An interrupt typed at a terminal reaches the whole group; the server decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    events = take_stdout()

    def say(event: dict[str, Any]) -> None:
        if given["rank"] == 0 or event["event"] == "failed":
            events.write(json.dumps(event) + "\n")

    make_repeatable(given["threads"])
    cpu = not device_names(given["cpu"])
    if given["ranks"] > 1:
        place = join_group(given["rank"], given["ranks"], cpu)
    else:
        place = Place(torch.device("cpu") if cpu else torch.device("cuda", 0))
    say({"event": "ready", "devices": device_names(given["cpu"]), "torch": torch.__version__})
    run(sys.stdin, say, Session(given["dtype"], given["packTokens"], given["gradientCheckpointing"], place))


if __name__ == "__main__":
    main()
