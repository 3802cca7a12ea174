"""A question set of a few sentences: every drug helps in one disease, every question asks which."""

import json
from pathlib import Path

DISEASES = ("gout", "asthma", "angina", "measles", "anemia", "ulcer")
DRUGS = ("aspirin", "zinc", "digoxin", "lithium", "iron", "quinine")


def write_qa(folder: Path) -> Path:
    """`documents.jsonl` and `questions.jsonl`; two of six questions are for testing."""
    folder.mkdir(parents=True)
    documents = [
        {
            "id": f"{disease}{copy}",
            "title": f"{disease} study",
            "parts": [f"{copy} cases of {disease} were seen.", f"{drug} helped in {disease}."],
        }
        for disease, drug in zip(DISEASES, DRUGS, strict=True)
        for copy in range(2)
    ]
    questions = [
        {
            "id": f"q-{disease}",
            "question": f"Which drug helped in {disease}?",
            "answers": [f"{drug} helped."],
            "split": "test" if place < 2 else "train",
        }
        for place, (disease, drug) in enumerate(zip(DISEASES, DRUGS, strict=True))
    ]
    for name, rows in (("documents", documents), ("questions", questions)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return folder
