"""A sentence-transformers folder with a few thousand random weights: real code, no download."""

from pathlib import Path

WINDOW = 16


def write_embedder(folder: Path, seed: int = 0) -> Path:
    """Write a two-layer BERT over characters with mean pooling; 24 dimensions, 16 tokens."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    source = folder.with_name(f"{folder.name}-bert")
    source.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    vocabulary += [f"##{letter}" for letter in letters]
    (source / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=WINDOW,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(source)
    BertTokenizerFast(str(source / "vocab.txt")).save_pretrained(source)
    words = Transformer(str(source), max_seq_length=WINDOW)
    SentenceTransformer(modules=[words, Pooling(24)], device="cpu").save(str(folder))
    return folder
