"""A cross-encoder folder with a few thousand random weights: real code, no download."""

from pathlib import Path

from tests.tiny_bert import CHARACTERS, bert_config, write_vocabulary

WINDOW = 32


def write_cross_encoder(folder: Path, seed: int = 0, window: int = WINDOW) -> Path:
    """Write a two-layer BERT over characters with one output; `window` tokens."""
    import torch
    from transformers import BertForSequenceClassification, BertTokenizerFast

    words, count = write_vocabulary(folder, CHARACTERS)
    torch.manual_seed(seed)
    config = bert_config(count, 24, window, 0.5, num_labels=1)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(words), model_max_length=window).save_pretrained(folder)
    return folder
