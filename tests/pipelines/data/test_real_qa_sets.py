"""The real question sets beside the checkout, and the real tokenizer."""

import os
from collections import Counter
from pathlib import Path

import pytest

from pipelines.data.chunking import chunk_documents
from pipelines.data.qa_sets import load_qa_set
from pipelines.data.tokens import TokenCounter

SHARED = Path(os.environ.get("SEEKRAY_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
PASSAGES = SHARED / "passages"
needs_shared = pytest.mark.skipif(
    not PASSAGES.is_dir(),
    reason=f"NOT CHECKED: no question sets at {PASSAGES}; set SEEKRAY_SHARED_DATA",
)


@needs_shared
@pytest.mark.parametrize(
    ("file", "group", "documents", "questions", "dropped"),
    [
        ("bioasq_golden", "document", 4875, 323, 0),
        ("bioasq_golden", "question", 323, 323, 0),
        ("pubmedqa_chunks", "document", 740, 740, 0),
        ("msmarco_dev_sample", "document", 9112, 414, 48),
    ],
)
def test_the_sets_are_read(file, group, documents, questions, dropped):
    found = load_qa_set(PASSAGES / f"{file}.jsonl", group=group)
    assert (len(found.documents), len(found.questions)) == (documents, questions)
    assert found.dropped == dropped
    ids = {document.id for document in found.documents}
    assert all(question.references for question in found.questions)
    assert all(question.relevant <= ids for question in found.questions)
    assert all(any(part.strip() for part in document.parts) for document in found.documents)
    splits = Counter(question.split for question in found.questions)
    if file == "pubmedqa_chunks":
        assert splits == {"train": 374, "test": 366}
    else:
        assert splits["test"] == pytest.approx(0.15 * questions, abs=2)


@needs_shared
def test_every_snippet_stands_in_one_part_of_its_article():
    import json

    path = PASSAGES / "bioasq_golden.jsonl"
    parts = {d.id: d.parts for d in load_qa_set(path).documents}
    for line in path.read_text().splitlines():
        for snippet in json.loads(line)["snippets"]:
            text = snippet["text"].strip()
            assert any(text in part for part in parts[snippet["pmid"]])


@pytest.mark.long
@needs_shared
@pytest.mark.parametrize("size", [256, 512, 1024])
def test_long_documents_in_chunks_of_the_paper_s_sizes(size):
    counter = TokenCounter.of("smollm2")
    documents = load_qa_set(PASSAGES / "bioasq_golden.jsonl", group="question").documents
    chunks = chunk_documents(documents, counter, size=size)
    assert all(chunk.tokens == counter.count(chunk.text) <= size for chunk in chunks)
    said = {document.id: " ".join(document.parts).split() for document in documents}
    kept: dict[str, list[str]] = {document.id: [] for document in documents}
    for chunk in chunks:
        kept[chunk.document] += chunk.text.split()
    assert kept == said
