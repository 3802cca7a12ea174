"""First vectors of the subwords, from the word table of a small sentence embedder.

A dozen labelled traces do not teach what words mean. The table is not trained further: a word that
no labelled trace holds stays where its neighbours in meaning are.
"""

from pathlib import Path

import numpy as np

from pipelines.realm.segment.features import Vocabulary
from pipelines.realm.segment.opening import SegmenterError

_TABLE = "word_embeddings.weight"
_SPREAD = 0.05  # about that of the other embeddings


def word_vectors(vocabulary: Vocabulary, embedder: str | Path, width: int) -> np.ndarray:
    """(subwords, width) float32: means of the embedder's word pieces, along their `width` main
    directions. Raises `SegmenterError` for a folder without a BERT's word table."""
    from safetensors import SafetensorError, safe_open
    from tokenizers import Tokenizer

    folder = Path(embedder)
    try:
        words = (folder / "tokenizer.json").read_text("utf-8")
        with safe_open(folder / "model.safetensors", "np") as file:
            name = next(key for key in file.keys() if key.endswith(_TABLE))  # noqa: SIM118
            table = file.get_tensor(name).astype(np.float32)  # (word pieces, d)
    except (OSError, SafetensorError, StopIteration) as error:
        why = " ".join(str(error).split()) or f"no {_TABLE}"
        raise SegmenterError(
            f"embedder {folder} cannot be read ({why}): name a BERT folder, `minilm`, or nothing"
        ) from error
    pieces = Tokenizer.from_str(words)
    pieces.no_padding()
    pieces.no_truncation()
    texts = [vocabulary.text(id).strip() for id in range(len(vocabulary))]
    found = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
    for row, made in enumerate(pieces.encode_batch(texts, add_special_tokens=False)):
        if made.ids:
            found[row] = table[made.ids].mean(axis=0)
    known = found.any(axis=1)
    found[known] -= found[known].mean(axis=0)
    _, _, directions = np.linalg.svd(found[known], full_matrices=False)
    kept = directions[:width]
    out = np.zeros((len(texts), width), dtype=np.float32)
    out[:, : len(kept)] = found @ kept.T
    return out * (_SPREAD / max(float(out[known].std()), 1e-9))
