"""Small question sets, and an embedder with whole words for its vocabulary."""

import hashlib
import json
from pathlib import Path

import numpy as np

WORDS = (
    "does gout asthma angina measles anemia ulcer respond to aspirin zinc digoxin lithium iron "
    "quinine yes it works well because of trials no that is another matter about weather roads"
).split()
DISEASES = ("gout", "asthma", "angina", "measles", "anemia", "ulcer")
DRUGS = ("aspirin", "zinc", "digoxin", "lithium", "iron", "quinine")


def word_vectors(texts):
    """Unit vectors, each the sum of chance directions of the text's words."""
    rows = []
    for text in texts:
        total = np.zeros(32)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            total += np.random.default_rng(seed).normal(size=32)
        rows.append(total / (np.linalg.norm(total) or 1))
    return np.array(rows, dtype=np.float32)


def write_bioasq(path: Path) -> Path:
    """36 questions, each with two snippets of an article of its own; gold says yes."""
    rows = []
    for disease in DISEASES:
        for drug in DRUGS:
            number = len(rows)
            rows.append(
                {
                    "id": f"b{number}",
                    "question": f"does {disease} respond to {drug}",
                    "type": "yesno",
                    "ideal_answer": ["yes"],
                    "snippets": [
                        snippet(number, 0, f"yes {disease} {drug} works well because of trials"),
                        snippet(number, 500, f"yes {disease} trials of {drug}"),
                    ],
                }
            )
    return _write(path, rows)


def write_msmarco(path: Path) -> Path:
    """20 questions of six passages; the third one is labelled and says yes."""
    rows = []
    for number in range(20):
        drug = DRUGS[number % 6]
        passages = [
            {
                "id": f"m{number}-{place}",
                "text": f"yes {drug} works well about {DISEASES[number // 6]}"
                if place == 2
                else f"no that is another matter about {drug} roads {WORDS[place + number]}",
                "bm25_rank": place + 1,
                "relevant": int(place == 2),
            }
            for place in range(6)
        ]
        question = f"{drug} {DISEASES[number // 6]}"
        rows.append(
            {
                "id": f"q{number}",
                "question": question,
                "passages": passages,
                "relevant_ids": [f"m{number}-2"],
            }
        )
    return _write(path, rows)


def snippet(article: int, offset: int, text: str) -> dict:
    return {"pmid": str(1000 + article), "section": "abstract", "offset": offset, "text": text}


def write_word_embedder(folder: Path, seed: int = 0) -> Path:
    """A two-layer BERT over `WORDS` with mean pooling; 32 dimensions, 64 tokens."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    source = folder.with_name(f"{folder.name}-bert")
    source.mkdir(parents=True)
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters]
    vocabulary += [f"##{letter}" for letter in letters]
    (source / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.2,
    )
    BertModel(config).save_pretrained(source)
    BertTokenizerFast(str(source / "vocab.txt")).save_pretrained(source)
    words = Transformer(str(source), max_seq_length=64)
    SentenceTransformer(modules=[words, Pooling(32)], device="cpu").save(str(folder))
    return folder


def _write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
