"""A question set of a few sentences: every drug helps in one disease, every question asks which."""

import json
from pathlib import Path

DISEASES = ("gout", "asthma", "angina", "measles", "anemia", "ulcer")
DRUGS = ("aspirin", "zinc", "digoxin", "lithium", "iron", "quinine")


def write_qa(folder: Path, copies: int = 1) -> Path:
    """`documents.jsonl` and `questions.jsonl`: six questions, of which two are for testing, in as
    many wordings as `copies` says."""
    folder.mkdir(parents=True)
    pairs = list(zip(DISEASES, DRUGS, strict=True))
    documents = [
        {
            "id": f"{disease}{copy}",
            "title": f"{disease} study",
            "parts": [f"{copy} cases of {disease} were seen.", f"{drug} helped in {disease}."],
        }
        for disease, drug in pairs
        for copy in range(2)
    ]
    questions = [
        {
            "id": f"q-{disease}" + (f"-{copy}" if copy else ""),
            "question": f"Which drug helped {'best ' * copy}in {disease}?",
            "answers": [f"{drug} helped."],
            "split": "test" if place < 2 else "train",
        }
        for place, (disease, drug) in enumerate(pairs)
        for copy in range(copies)
    ]
    for name, rows in (("documents", documents), ("questions", questions)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return folder
