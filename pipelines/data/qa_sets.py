"""Question sets of every format; `load_qa_set` tells them apart by their first line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pipelines.data.chunks import Document, Question
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import read_objects
from pipelines.data.qa_fields import clean, lines, not_empty, once, texts
from pipelines.data.qa_formats import load_bioasq, load_msmarco, load_pubmedqa
from pipelines.data.qa_set import QASet, split_questions, with_dev

__all__ = [
    "QASet",
    "load_bioasq",
    "load_jsonl_set",
    "load_msmarco",
    "load_pubmedqa",
    "load_qa_set",
    "split_questions",
    "with_dev",
]


def load_qa_set(
    path: str | Path, *, group: str = "document", seed: int = 0, name: str = ""
) -> QASet:
    """The set at `path`, each of its questions in a split.

    A folder holds `documents.jsonl` and perhaps `questions.jsonl` (see `load_jsonl_set`); a file is
    BioASQ, PubMedQA or MS MARCO as their loaders describe them, or else documents alone. Splits
    that the file names stay, else they are drawn by `seed`. `group` is BioASQ's. `name` overrides
    the set's own. Raises `CorpusError`.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise CorpusError(
            f"{path}: no such file or folder: give a question set (BioASQ, PubMedQA or MS MARCO as "
            "JSON lines, or a folder with documents.jsonl and questions.jsonl)"
        )
    kind = "jsonl" if path.is_dir() else _kind(path)
    if kind == "bioasq":
        found = load_bioasq(path, group=group)
    elif group != "document":
        raise CorpusError(f"{path}: group={group!r} is for BioASQ, this is {kind}")
    else:
        found = _LOADERS[kind](path)
    if any(not question.split for question in found.questions):
        found = replace(found, questions=split_questions(found.questions, seed=seed))
    return replace(found, name=name or found.name)


def load_jsonl_set(path: str | Path) -> QASet:
    """Any documents and questions, as JSON lines, plain or gz.

    A folder holds `documents.jsonl` (or `corpus.jsonl`): `id` or `_id`, `parts` (a list of texts)
    or `text`, perhaps `title`; and perhaps `questions.jsonl` (or `queries.jsonl`): `id` or `_id`,
    `question` or `text`, `answers` (a list, best first) or `answer`, perhaps `kind`, `relevant` (a
    list of document ids), `split`. A file stands for the documents. Questions without an answer
    stay: they can be answered, though not measured. Raises `CorpusError`.
    """
    path = Path(path).expanduser()
    documents_file = _file(path, "documents", "corpus") if path.is_dir() else path
    if documents_file is None:
        raise CorpusError(f"{path}: holds no documents.jsonl (or corpus.jsonl, or either as .gz)")
    documents: dict[str, Document] = {}
    for fields in lines(documents_file):
        id = fields.required("id", "_id")
        once(documents, fields.place, id)
        parts = texts(fields, "parts") or texts(fields, "text", "abstract", "contents")
        documents[id] = Document(id, parts, clean(fields.text("title")))
    questions: dict[str, Question] = {}
    questions_file = _file(path, "questions", "queries") if path.is_dir() else None
    for fields in lines(questions_file) if questions_file else ():
        id = fields.required("id", "_id")
        once(questions, fields.place, id)
        relevant = fields.texts("relevant", "relevant_ids")
        unknown = [each for each in relevant if each not in documents]
        if unknown:
            raise CorpusError(
                f"{fields.place}: relevant names document {unknown[0]!r}, which "
                f"{documents_file.name} does not hold"
            )
        questions[id] = Question(
            id,
            clean(fields.required("question", "text")),
            texts(fields, "answers", "references") or texts(fields, "answer", "reference"),
            fields.text("kind", "type"),
            frozenset(relevant),
            fields.text("split"),
        )
    name = (path if path.is_dir() else path.with_suffix("")).resolve().name
    return QASet(name, not_empty(path, documents.values()), tuple(questions.values()))


def _kind(path: Path) -> str:
    _, first = next(read_objects(path), (0, {}))
    for kind, keys in (
        ("bioasq", {"snippets", "ideal_answer"}),
        ("pubmedqa", {"chunks", "long_answer"}),
        ("msmarco", {"passages", "relevant_ids"}),
    ):
        if keys <= first.keys():
            return kind
    return "jsonl"


_LOADERS: dict[str, Callable[[Path], QASet]] = {
    "pubmedqa": load_pubmedqa,
    "msmarco": load_msmarco,
    "jsonl": load_jsonl_set,
}


def _file(folder: Path, *names: str) -> Path | None:
    paths = (folder / f"{name}.jsonl{end}" for name in names for end in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)
