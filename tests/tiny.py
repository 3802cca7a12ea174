"""A tiny model and a tiny corpus, made from nothing in no time."""

import json
import random
from pathlib import Path

import torch

DISEASES = ["Gout", "Asthma", "Angina", "Measles", "Anemia", "Ulcer"]
DRUGS = ["Aspirin", "Zinc", "Digoxin", "Lithium", "Iron", "Quinine"]
CHAT = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def write_corpus(path: Path) -> Path:
    """Every disease with its own drug in four records, and with another one in three."""
    lines = []
    number = 1000
    for i, disease in enumerate(DISEASES):
        for drug, count in ((DRUGS[i], 4), (DRUGS[(i + 3) % len(DRUGS)], 3)):
            for copy in range(count):
                number += 1
                said = f"{disease} {drug}" if copy % 2 else disease
                lines.append(
                    {
                        "pmid": str(number),
                        "title": f"{said} study {number}",
                        "abstract": f"{copy} patients with {disease.lower()} were seen.",
                        "date": f"1978-{1 + number % 12:02d}-01",
                        "mesh": [f"{disease}/drug therapy", f"{drug}/therapeutic use"],
                    }
                )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_model(folder: Path, seed: int = 0) -> Path:
    """A two-layer Llama with a tokenizer of single characters and of the answer format's pieces."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from tokenizers.decoders import ByteLevel
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from pipelines.data.task import Pico, Task
    from pipelines.deepretrieval.prompt import messages
    from pipelines.deepretrieval.warmup import demonstration

    rng = random.Random(0)
    tasks = [Task(f"{a}{b}", Pico(a, b), frozenset({"1"})) for a in DISEASES for b in DRUGS]
    texts = [demonstration(task, rng, open_think=True) for task in tasks for _ in range(5)]
    texts += [m["content"] for task in tasks for m in messages(task.need, "short")]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")
    fast.chat_template = CHAT
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
