"""What tiny BERT folders share: a vocabulary and two random layers."""

import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_vocabulary(folder: Path, words: Iterable[str]) -> tuple[Path, int]:
    """Write `vocab.txt`: special tokens, `words`, and the single letters inside of words."""
    folder.mkdir(parents=True)
    words = list(words)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    vocabulary += [f"##{word}" for word in words if len(word) == 1]
    path = folder / "vocab.txt"
    path.write_text("\n".join(vocabulary) + "\n")
    return path, len(vocabulary)


def bert_config(words: int, hidden: int, window: int, spread: float, **more: Any) -> Any:
    """Two layers of two heads over `words` tokens; weights are drawn with that spread."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * hidden,
        max_position_embeddings=window,
        initializer_range=spread,
        **more,
    )


def write_mean_pooled(
    folder: Path, words: Iterable[str], *, hidden: int, window: int, spread: float, seed: int
) -> Path:
    """Write a sentence-transformers folder: a BERT over `words`, mean pooling."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertModel, BertTokenizerFast

    source = folder.with_name(f"{folder.name}-bert")
    path, count = write_vocabulary(source, words)
    torch.manual_seed(seed)
    BertModel(bert_config(count, hidden, window, spread)).save_pretrained(source)
    BertTokenizerFast(str(path)).save_pretrained(source)
    layers = Transformer(str(source), max_seq_length=window)
    SentenceTransformer(modules=[layers, Pooling(hidden)], device="cpu").save(str(folder))
    return folder


CHARACTERS = string.ascii_lowercase + string.digits
