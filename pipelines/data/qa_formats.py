"""BioASQ, PubMedQA and MS MARCO, as JSON lines.

The corpus of a set is the union over all its questions: what one question needs is a distractor to
the others.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.data.chunks import Document, Question
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields
from pipelines.data.qa_fields import clean, lines, not_empty, once, texts
from pipelines.data.qa_set import QASet
from pipelines.data.snippets import Snippet, merged

GROUPS = ("document", "question")


def load_bioasq(path: str | Path, *, group: str = "document") -> QASet:
    """BioASQ questions with their snippets, merged per article and section.

    With group "document" a document is an article (id: its PMID), its parts the snippets that any
    question cites, the title's first. With "question" a document is all that one question cites
    (id: the question's), one part an article, in the order of the PMIDs, which tells nothing of
    what matters: long texts, so that large chunks have something to hold. References are the ideal
    answers; `facts` holds `exact_answer`, `relevant` the documents. Raises `CorpusError`.
    """
    if group not in GROUPS:
        raise CorpusError(f"group is {group!r}, must be {' or '.join(GROUPS)}")
    every: list[Snippet] = []
    documents: list[Document] = []
    questions: dict[str, Question] = {}
    for fields in lines(path):
        id = fields.required("id")
        snippets = [_snippet(each, fields.place) for each in _list(fields, "snippets")]
        every += snippets
        cited = frozenset(each.article for each in snippets)
        if group == "question" and snippets:
            parts = tuple(" ".join(each.parts) for each in _articles(snippets, by_number=True))
            documents.append(Document(id, parts))  # its question as title would give it away
            cited = frozenset({id})
        once(questions, fields.place, id)
        questions[id] = Question(
            id,
            clean(fields.required("question", "body")),
            texts(fields, "ideal_answer"),
            fields.text("type"),
            cited,
            fields.text("split"),
            _exact(fields.values.get("exact_answer")),
        )
    if group == "document":
        documents = _articles(every)
    return _set(f"bioasq-{group}" if group != "document" else "bioasq", path, documents, questions)


def load_pubmedqa(path: str | Path) -> QASet:
    """PubMedQA: documents are abstracts without their conclusion, a part a labelled section.

    The reference is the conclusion (`long_answer`), hence the kind `summary`; `facts["decision"]`
    is yes, no or maybe. The official test set has split "test", the rest "train". Raises
    `CorpusError`.
    """
    documents: list[Document] = []
    questions: dict[str, Question] = {}
    for fields in lines(path):
        id = fields.required("id")
        once(questions, fields.place, id)
        parts = tuple(_section(each, fields.place) for each in _list(fields, "chunks"))
        documents.append(Document(id, tuple(part for part in parts if part)))
        questions[id] = Question(
            id,
            clean(fields.required("question")),
            texts(fields, "long_answer"),
            "summary",
            frozenset({id}),
            fields.text("split"),
            {"decision": fields.text("decision")},
        )
    return _set("pubmedqa", path, documents, questions)


def load_msmarco(path: str | Path) -> QASet:
    """MS MARCO: documents are passages; references are the passages labelled relevant.

    Questions whose labelled passage is not among theirs have no reference and are dropped. Raises
    `CorpusError`.
    """
    documents: dict[str, Document] = {}
    questions: dict[str, Question] = {}
    for fields in lines(path):
        id = fields.required("id")
        once(questions, fields.place, id)
        own: dict[str, str] = {}
        for values in _list(fields, "passages"):
            passage = _fields(values, f"{fields.place}, passages")
            own[passage.required("id")] = text = clean(passage.required("text"))
            made = Document(passage.required("id"), (text,))
            if documents.setdefault(made.id, made) != made:
                raise CorpusError(f"{fields.place}: passage {made.id} has another text elsewhere")
        relevant = [each for each in fields.texts("relevant_ids") if each in own]
        questions[id] = Question(
            id,
            clean(fields.required("question")),
            tuple(own[each] for each in relevant),
            relevant=frozenset(relevant),
            split=fields.text("split"),
        )
    return _set("msmarco", path, list(documents.values()), questions)


def _set(
    name: str, path: str | Path, documents: Sequence[Document], questions: dict[str, Question]
) -> QASet:
    kept = tuple(each for each in questions.values() if each.references)
    if not kept:
        raise CorpusError(f"{path}: holds no question with a reference answer")
    return QASet(name, not_empty(path, documents), kept, len(questions) - len(kept))


def _list(fields: Fields, name: str) -> list[Any]:
    found = fields.values.get(name)
    if not isinstance(found, list):
        raise CorpusError(f"{fields.place}: {name} is not a list: {found!r:.60}")
    return found


def _fields(values: Any, place: str) -> Fields:
    if not isinstance(values, dict):
        raise CorpusError(f"{place}: expected an object, got {values!r:.60}")
    found = Fields(values, "", 0)
    found.place = place
    return found


def _snippet(values: Any, place: str) -> Snippet:
    fields = _fields(values, f"{place}, snippets")
    offset = values.get("offset", 0)
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise CorpusError(f"{fields.place}: offset is no whole number: {offset!r:.40}")
    return Snippet(
        fields.required("pmid"), fields.text("section"), offset, clean(fields.required("text"))
    )


def _articles(snippets: Sequence[Snippet], *, by_number: bool = False) -> list[Document]:
    """A document an article, in order of appearance or of the PMID's number."""
    grouped: dict[str, list[Snippet]] = defaultdict(list)
    for snippet in snippets:
        grouped[snippet.article].append(snippet)
    order = sorted(grouped, key=lambda id: (len(id), id)) if by_number else list(grouped)
    return [_article(id, grouped[id]) for id in order]


def _article(id: str, snippets: Sequence[Snippet]) -> Document:
    sections: dict[str, list[Snippet]] = defaultdict(list)
    for snippet in snippets:
        sections[snippet.section].append(snippet)
    title = merged(sections.pop("title", []))
    rest = [merged(sections[name]) for name in sorted(sections)]
    parts = [each.text for section in (title, *rest) for each in section]
    return Document(id, tuple(parts), " ".join(each.text for each in title))


def _section(values: Any, place: str) -> str:
    fields = _fields(values, f"{place}, chunks")
    label, text = clean(fields.text("label")), clean(fields.text("text"))
    return f"{label}: {text}" if label and text else text


def _exact(value: Any) -> dict[str, str]:
    """BioASQ's exact answer as one text: synonyms with " | ", items of a list with "; "."""
    if not value:
        return {}
    if isinstance(value, str):
        return {"exact_answer": value}
    items = [" | ".join(map(str, each)) if isinstance(each, list) else str(each) for each in value]
    return {"exact_answer": "; ".join(items)}
