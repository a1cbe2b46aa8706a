"""A causal language model that scores packs of rows: log-probabilities of the trainable tokens, with their gradient."""

import json
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils import is_flash_attn_2_available, logging

from tadpole_torch.errors import TrainerError
from tadpole_torch.folder import check_model_folder

CHUNK_LOGITS = 1 << 25
"""Logits that are in memory at once: 128 MiB in float32, and as much again for their gradient."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Scorer(nn.Module):
    """The model behind one `forward`, from token ids to log-probabilities; its parameters keep their names below `model`."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, position_ids: Tensor, sources: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """[L], [L], [M], [M] of a `Pack` to [M] log p (nats, float32) and [M] entropy (nats, without gradient).

        With positions that start again at 0 and no mask given, transformers lets a row attend to itself alone:
        https://github.com/huggingface/transformers/blob/main/src/transformers/masking_utils.py (find_packed_sequence_indices).
        """
        backbone = self.model.base_model
        states = backbone(input_ids=input_ids[None], position_ids=position_ids[None], use_cache=False).last_hidden_state[0]
        head = self.model.get_output_embeddings()
        step = max(1, CHUNK_LOGITS // self.model.config.get_text_config().vocab_size)
        parts = [
            checkpoint(_chunk, head, states[sources[at : at + step]], targets[at : at + step], use_reentrant=False)
            for at in range(0, len(sources), step)
        ]
        if not parts:
            empty = states.float().sum() * torch.zeros(0, device=states.device)
            return empty, empty.detach()
        return torch.cat([log_p for log_p, _ in parts]), torch.cat([entropy for _, entropy in parts])


def _chunk(head: nn.Module, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """[C, H] and [C] to [C] log p and [C] entropy. Its [C, V] logits are computed again for the gradient, not kept."""
    logits = head(states).float()
    normalizer = logits.logsumexp(-1)
    log_p = logits.gather(-1, targets[:, None])[:, 0] - normalizer
    with torch.no_grad():
        entropy = normalizer - (torch.softmax(logits, -1) * logits).sum(-1)
    return log_p, entropy


def load_scorer(folder: Path, dtype: torch.dtype, device: torch.device, gradient_checkpointing: bool) -> Scorer:
    """The folder's model, ready to train. Raises TrainerError `model` where the folder does not hold all of one."""
    check_model_folder(folder)
    logging.disable_progress_bar()
    attention = "flash_attention_2" if device.type == "cuda" and dtype is torch.bfloat16 and is_flash_attn_2_available() else "sdpa"
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        _without_dropout(config)
        model, info = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            attn_implementation=attention,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    except (ValueError, KeyError, RuntimeError, OSError, json.JSONDecodeError) as error:
        raise TrainerError("model", f"{folder}: {error}") from error
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info.get(what):
            names = sorted(str(each) for each in info[what])
            raise TrainerError("model", f"{folder}: {what.replace('_', ' ')} in its weights: {', '.join(names[:3])} ({len(names)})")
    if gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    # Gradient checkpointing works in this mode only; dropout, the other thing that it switches on, is 0.
    model.train()
    scorer = Scorer(model.to(device))
    check_scorer(folder, scorer)
    return scorer


def _without_dropout(config: object) -> None:
    """The policy that sampled had none, and a repeated update has to give the same."""
    for name, value in vars(config).items():
        if ("dropout" in name or "drop" in name.split("_")[-1] or name.endswith("pdrop")) and isinstance(value, float):
            setattr(config, name, 0.0)


@torch.no_grad()
def check_scorer(folder: Path, scorer: Scorer) -> None:
    """Scores two short rows packed, and asks the model itself for each alone.

    They differ where rows of a pack see each other (recurrent architectures) or where logits are more than the head applied to the
    last states (soft caps, scales). Such a model is refused, since its updates would be wrong without a sign.
    """
    device = next(scorer.parameters()).device
    size = scorer.model.config.get_text_config().vocab_size
    rows = [(torch.arange(length, device=device) * 7919 + length) % size for length in (12, 9)]
    positions = [torch.arange(len(row), device=device) for row in rows]
    targets = [row[1:] for row in rows]
    sources = [positions[0][:-1], positions[1][:-1] + len(rows[0])]
    packed, _ = scorer(torch.cat(rows), torch.cat(positions), torch.cat(sources), torch.cat(targets))
    alone = [
        scorer.model(input_ids=row[None], use_cache=False).logits[0, :-1].float().log_softmax(-1).gather(-1, row[1:, None])[:, 0]
        for row in rows
    ]
    expected = torch.cat(alone)
    bound = 1e-3 if next(scorer.parameters()).dtype is torch.float32 else 0.1
    worst = float((packed - expected).abs().mean() / expected.abs().mean().clamp(min=1.0))
    # Weights that are not finite are for the update to tell.
    if worst > bound:
        raise TrainerError(
            "model",
            f"{folder}: {type(scorer.model).__name__} scores rows differently packed and alone (by {worst:.2g}, expected {bound} at most): "
            "this architecture is not supported",
        )
