"""A real, very small Llama with random weights and a tokenizer of bytes: `python tiny.py FOLDER [SEED]`. Nothing is downloaded."""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHAT_TEMPLATE = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}<|assistant|>"
SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def tokenizer_of_bytes() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={byte: i for i, byte in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[0], chat_template=CHAT_TEMPLATE)


def tiny_config(**changes: object) -> LlamaConfig:
    settings: dict[str, object] = {
        "vocab_size": 260,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        # Large, so that what a token attends to decides what comes next, as in a trained model.
        "initializer_range": 0.2,
        "bos_token_id": None,
        "eos_token_id": 256,
    }
    return LlamaConfig(**{**settings, **changes})


def make_tiny(folder: Path, seed: int = 0, max_shard_size: str = "5GB", **changes: object) -> None:
    torch.manual_seed(seed)
    model = LlamaForCausalLM(tiny_config(**changes))
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    tokenizer_of_bytes().save_pretrained(folder)


if __name__ == "__main__":
    make_tiny(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
