"""Makes the start of a scribe: a Llama of a few hundred thousand weights, drawn at random, with a tokenizer of its own.

    python scribe.py OUT SEED < texts

Each line of standard input is a JSON string, a whole conversation as the chat template renders it; the tokenizer's merges are learnt from them. A
word is one token with the space before it, so that the word after it follows from it alone wherever both stand. The folder is in Hugging Face's layout, and any server loads it.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

MARKERS = ["<|end|>", "<|user|>", "<|assistant|>", "<|tool|>"]

# Tools and the system's words are left out: a model that knows one tool needs no list of them.
CHAT_TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'user' -%}<|user|>{{ message.content }}
{%- elif message.role == 'tool' -%}<|tool|>{{ message.content }}
{%- elif message.role == 'assistant' -%}<|assistant|>{{ message.content or '' }}
{%- for call in message.tool_calls or [] -%}
<tool_call>
{{ '{"name": ' + call.function.name | tojson + ', "arguments": ' + call.function.arguments | tojson + '}' }}
</tool_call>
{%- endfor -%}<|end|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""

# The smallest that vLLM's attention on CPUs is made for.
HEAD = 32


def tokenizer_of(texts: list[str]) -> Tokenizer:
    """Byte-level BPE within words with the space before them, digits and single signs."""
    tokenizer = Tokenizer(models.BPE())
    parts = pre_tokenizers.Split(Regex(r" ?[A-Za-z]+|[0-9]|[^A-Za-z0-9]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([parts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1024, special_tokens=MARKERS, initial_alphabet=alphabet))
    return tokenizer


def model_of(vocabulary: int, end: int, width: int, layers: int, seed: int) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=width // HEAD,
        num_key_value_heads=width // HEAD,
        head_dim=HEAD,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
        dtype="float32",
    )
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=end)
    return model


def main(out: Path, seed: int, width: int = 128, layers: int = 2) -> None:
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer_of([json.loads(line) for line in sys.stdin]),
        eos_token=MARKERS[0],
        pad_token=MARKERS[0],
        additional_special_tokens=MARKERS[1:],
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(out)
    model = model_of(len(fast), fast.eos_token_id, width, layers, seed)
    model.save_pretrained(out)
    print(json.dumps({"vocabulary": len(fast), "weights": sum(weight.numel() for weight in model.parameters())}))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python scribe.py OUT SEED < texts")
    main(Path(sys.argv[1]), int(sys.argv[2]))
