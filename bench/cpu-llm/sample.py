"""Samples one turn for each prompt at temperature 1: `python sample.py MODEL SEED < prompts`, a JSON list of token ids on each line. Prints texts."""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TURN_TOKENS = 96


def main(folder: str, seed: int) -> None:
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for line in sys.stdin:
        prompt = torch.tensor([json.loads(line)])
        whole = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=TURN_TOKENS, do_sample=True, temperature=1.0, top_k=0, top_p=1.0
        )
        turn = whole[0, prompt.shape[1] :].tolist()
        if turn and turn[-1] == tokenizer.eos_token_id:
            turn.pop()
        print(json.dumps(tokenizer.decode(turn)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
