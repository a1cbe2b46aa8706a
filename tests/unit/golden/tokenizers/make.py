"""Makes the small tokenizers of the tests, and what the reference library encodes with them: `pip install tokenizers; python make.py`.

byte-level: in the manner of Qwen (byte-level BPE, NFC, ChatML's markers). pieces: in the manner of Llama 2 (pieces with spaces as U+2581, bytes
for what has no piece). Per text: `ids` with markers read as markers, `plain` with none read.
"""

import json
from pathlib import Path

from tokenizers import Tokenizer, models, trainers, pre_tokenizers, decoders, normalizers, Regex, AddedToken

OUT = Path(__file__).parent
words = """the quick function returns a value and const let await async import export from test expect describe it
total sum lib src index file path command bash read write edit glob name arguments parameter tool call response think
user assistant system you are a software engineer solve the task check your work error line number string object array
{"name": "Bash", "arguments": {"command": "ls"}} <function=Bash> <parameter=command> </parameter> </function> 0 1 2 3 42
npm node git diff commit return if else for while new class this null true false undefined""".split()
corpus = [" ".join(words)] * 3 + words * 2 + ["\n".join(words)]
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def chatml():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(QWEN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[])
    )
    t.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    t.add_tokens(
        [
            AddedToken(x, normalized=False, special=False)
            for x in ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"]
        ]
    )
    return t


def pieces():
    t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=420, special_tokens=["<unk>"] + [f"<0x{i:02X}>" for i in range(256)], max_token_length=12)
    )
    t.add_special_tokens(["<s>", "</s>", "[INST]", "[/INST]"])
    return t


texts = [
    "",
    "total sum",
    "  two  spaces\n\n\tand a tab ",
    "it's 42 o'clock — naïve café, e\u0301",
    "日本語のテキスト 🐸🐸",
    "x <|im_end|> y",
    "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n",
    '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call><|im_end|>',
    "[INST] read the file [/INST] done</s>[INST] more [/INST]",
    "<s>[INST]a[/INST]\u0000\u0001b",
    "</s></s> </s>",
]
for name, t in [("byte-level", chatml()), ("pieces", pieces())]:
    doc = json.loads(t.to_str())
    # Bytes are pieces like any other.
    doc["added_tokens"] = [one for one in doc["added_tokens"] if not one["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(doc))
    plain = Tokenizer.from_str(json.dumps({**doc, "added_tokens": []}))
    cases = [
        {"text": x, "ids": t.encode(x, add_special_tokens=False).ids, "plain": plain.encode(x, add_special_tokens=False).ids} for x in texts
    ]
    (OUT / f"{name}.json").write_text(json.dumps(doc, ensure_ascii=False) + "\n")
    (OUT / f"{name}.ids.json").write_text(json.dumps(cases, ensure_ascii=False) + "\n")
