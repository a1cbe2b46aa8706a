"""`python -m tadpole_torch serve | update | warmup | logprobs`.

Modules that need torch, which takes seconds to load, are imported by the commands that compute; a server leaves it to its runners.
"""

import argparse
import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tadpole_torch import __version__
from tadpole_torch.crew import Crew, CrewSettings
from tadpole_torch.errors import TrainerError, classified
from tadpole_torch.server import TOKEN_VARIABLE, Server

if TYPE_CHECKING:
    from tadpole_torch.update import Session


def main(arguments: list[str] | None = None) -> int:
    """Exit code: 0 done, 1 failed (the reason on standard error), 2 bad arguments."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except Exception as error:
        failure = classified(error)
        if failure.kind == "internal" and not isinstance(error, TrainerError):
            raise
        print(f"tadpole_torch: {failure.kind}: {failure}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tadpole_torch", description="Updates of causal language models from Arrow batches.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")

    serve = commands.add_parser("serve", help="serve a worker over a socket in the session's folder")
    serve.add_argument("--session", type=Path, required=True, metavar="FOLDER")
    serve.add_argument("--ranks", type=_positive, help="processes that make an update together (default: one per GPU); experimental")
    serve.set_defaults(run=_serve)

    update = commands.add_parser("update", help="make one update")
    update.add_argument("--parent", type=Path, required=True, metavar="FOLDER", help="model in Hugging Face's layout")
    update.add_argument("--optimizer", type=Path, metavar="FOLDER", help="optimizer state of the parent (default: fresh)")
    update.add_argument("--batch", type=Path, required=True, metavar="FILE")
    update.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    update.add_argument("--settings", type=Path, required=True, metavar="FILE", help='JSON: {"loss": {…}, "optimizer": {…}}')
    update.set_defaults(run=_update)

    warmup = commands.add_parser("warmup", help="supervised fine-tuning on a batch's trainable tokens")
    warmup.add_argument("--parent", type=Path, required=True, metavar="FOLDER")
    warmup.add_argument("--batch", type=Path, required=True, metavar="FILE")
    warmup.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    warmup.add_argument("--epochs", type=_positive, default=1)
    warmup.add_argument("--rows-per-step", type=_positive, default=16)
    warmup.add_argument("--learning-rate", type=float, default=1e-3)
    warmup.add_argument("--weight-decay", type=float, default=0.0)
    warmup.add_argument("--seed", type=int, default=0)
    warmup.set_defaults(run=_warmup)

    scores = commands.add_parser("logprobs", help="log-probabilities of a batch's trainable tokens, a JSON line per row")
    scores.add_argument("--model", type=Path, required=True, metavar="FOLDER")
    scores.add_argument("--batch", type=Path, required=True, metavar="FILE")
    scores.set_defaults(run=_logprobs)

    for command in (serve, update, warmup, scores):
        command.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
        command.add_argument("--pack-tokens", type=_positive, default=8192, help="tokens of one forward pass")
        command.add_argument("--gradient-checkpointing", choices=["on", "off"], default="off")
        command.add_argument("--cpu", action="store_true", help="use no GPU")
        command.add_argument("--threads", type=_positive, help="CPU threads (default: as many as this process may use)")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}, expected 1 or more")
    return value


def _session(options: argparse.Namespace) -> "Session":
    import torch

    from tadpole_torch.device import Place, device_names, make_repeatable
    from tadpole_torch.update import Session

    make_repeatable(options.threads)
    device = torch.device("cuda", 0) if device_names(options.cpu) else torch.device("cpu")
    return Session(options.dtype, options.pack_tokens, options.gradient_checkpointing == "on", Place(device))


def _print(value: object) -> None:
    print(json.dumps(value), flush=True)


def _serve(options: argparse.Namespace) -> int:
    token = os.environ.get(TOKEN_VARIABLE, "")
    if len(token) != 32:
        print(f"tadpole_torch: {TOKEN_VARIABLE} holds {len(token)} characters, expected 32 hex digits", file=sys.stderr)
        return 2
    if not options.session.is_dir():
        print(f"tadpole_torch: --session {options.session}: no such folder", file=sys.stderr)
        return 2
    ranks = options.ranks or (1 if options.cpu else _gpus())
    crew = Crew(
        CrewSettings(
            dtype=options.dtype,
            pack_tokens=options.pack_tokens,
            gradient_checkpointing=options.gradient_checkpointing == "on",
            cpu=options.cpu,
            threads=options.threads,
            ranks=ranks,
        )
    )
    asyncio.run(Server(options.session.resolve(), token, crew).serve())
    return 0


def _gpus() -> int:
    from tadpole_torch.device import device_names

    return max(1, len(device_names(cpu=False)))


def _update(options: argparse.Namespace) -> int:
    """Prints the folder's checkpoint.json. The key is made of the paths, the batch's bytes and the settings."""
    from tadpole_torch.update import parse_order, run_update

    settings = json.loads(options.settings.read_text())
    with options.batch.open("rb") as file:
        batch = hashlib.file_digest(file, "sha256").hexdigest()
    named = {"parent": str(options.parent.resolve()), "optimizer": options.optimizer and str(options.optimizer.resolve())}
    key = hashlib.sha256(json.dumps({**named, "batch": batch, "settings": settings}, sort_keys=True).encode()).hexdigest()
    order = parse_order({**named, "key": key, "batch": str(options.batch), "out": str(options.out), "settings": settings})
    _print(run_update(order, _session(options), lambda done, total: print(f"{done}/{total}", file=sys.stderr)))
    return 0


def _warmup(options: argparse.Namespace) -> int:
    from tadpole_torch.optimizer import OptimizerSettings
    from tadpole_torch.supervised import WarmupSettings, warm_up

    optimizer = OptimizerSettings(learning_rate=options.learning_rate, weight_decay=options.weight_decay)
    settings = WarmupSettings(options.epochs, options.rows_per_step, options.seed, optimizer)
    _print(warm_up(options.parent, options.batch, options.out, settings, _session(options), _print))
    return 0


def _logprobs(options: argparse.Namespace) -> int:
    from tadpole_torch.batch import read_batch
    from tadpole_torch.scores import agreement, log_probs

    rows = read_batch(options.batch)
    scored = []
    for index, values in log_probs(options.model, rows, _session(options)):
        scored.append((index, values))
        _print({"row": index, "rollout": rows[index].rollout, "logprobs": values})
    _print(agreement(rows, scored))
    return 0
