"""A cross-encoder folder with a few thousand random weights: real code, no download."""

from pathlib import Path

WINDOW = 32


def write_cross_encoder(folder: Path, seed: int = 0, window: int = WINDOW) -> Path:
    """Write a two-layer BERT over characters with one output; `window` tokens."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    vocabulary += [f"##{letter}" for letter in letters]
    words = folder / "vocab.txt"
    words.write_text("\n".join(vocabulary) + "\n")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=window,
        initializer_range=0.5,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(words), model_max_length=window).save_pretrained(folder)
    return folder
