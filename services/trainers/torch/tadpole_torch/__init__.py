"""Policy-gradient updates of Hugging Face causal language models, one immutable batch at a time."""

__version__ = "0.1.0"
