"""Questions with reference answers, and the documents that they are answered from.

The corpus of a set is the union over all its questions: what one question needs is a distractor to
the others. `load_qa_set` tells the formats apart by their first line.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.data.chunks import Document, Question
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields, read_objects
from pipelines.data.snippets import Snippet, merged

SPLITS = ("train", "dev", "test")
FRACTIONS = (0.7, 0.15, 0.15)
GROUPS = ("document", "question")


@dataclass(frozen=True, slots=True)
class QASet:
    """Documents and questions, in file order; ids are unique among each.

    `dropped` counts questions of the file that were left out for want of a reference answer.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    dropped: int = 0

    def of_split(self, *names: str) -> tuple[Question, ...]:
        """The questions of these splits. Raises `CorpusError` where there is none."""
        found = tuple(each for each in self.questions if each.split in names)
        if not found:
            known = ", ".join(sorted({each.split or "(none)" for each in self.questions})) or "none"
            raise CorpusError(
                f"{self.name}: no question of split {' or '.join(names)} (splits there: {known})"
            )
        return found


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
    for fields in _lines(path):
        id = fields.required("id")
        snippets = [_snippet(each, fields.place) for each in _list(fields, "snippets")]
        every += snippets
        cited = frozenset(each.article for each in snippets)
        if group == "question" and snippets:
            parts = tuple(" ".join(each.parts) for each in _articles(snippets, by_number=True))
            documents.append(Document(id, parts))  # its question as title would give it away
            cited = frozenset({id})
        _once(questions, fields.place, id)
        questions[id] = Question(
            id,
            _clean(fields.required("question", "body")),
            _texts(fields, "ideal_answer"),
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

    The reference is the conclusion (`long_answer`); `facts["decision"]` is yes, no or maybe. The
    official test set has split "test", the rest "train". Raises `CorpusError`.
    """
    documents: list[Document] = []
    questions: dict[str, Question] = {}
    for fields in _lines(path):
        id = fields.required("id")
        _once(questions, fields.place, id)
        parts = tuple(_section(each, fields.place) for each in _list(fields, "chunks"))
        documents.append(Document(id, tuple(part for part in parts if part)))
        questions[id] = Question(
            id,
            _clean(fields.required("question")),
            _texts(fields, "long_answer"),
            "yesno",
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
    for fields in _lines(path):
        id = fields.required("id")
        _once(questions, fields.place, id)
        own: dict[str, str] = {}
        for values in _list(fields, "passages"):
            passage = _fields(values, f"{fields.place}, passages")
            own[passage.required("id")] = text = _clean(passage.required("text"))
            made = Document(passage.required("id"), (text,))
            if documents.setdefault(made.id, made) != made:
                raise CorpusError(f"{fields.place}: passage {made.id} has another text elsewhere")
        relevant = [each for each in fields.texts("relevant_ids") if each in own]
        questions[id] = Question(
            id,
            _clean(fields.required("question")),
            tuple(own[each] for each in relevant),
            relevant=frozenset(relevant),
            split=fields.text("split"),
        )
    return _set("msmarco", path, list(documents.values()), questions)


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
    for fields in _lines(documents_file):
        id = fields.required("id", "_id")
        _once(documents, fields.place, id)
        parts = _texts(fields, "parts") or _texts(fields, "text", "abstract", "contents")
        documents[id] = Document(id, parts, _clean(fields.text("title")))
    questions: dict[str, Question] = {}
    questions_file = _file(path, "questions", "queries") if path.is_dir() else None
    for fields in _lines(questions_file) if questions_file else ():
        id = fields.required("id", "_id")
        _once(questions, fields.place, id)
        relevant = fields.texts("relevant", "relevant_ids")
        unknown = [each for each in relevant if each not in documents]
        if unknown:
            raise CorpusError(
                f"{fields.place}: relevant names document {unknown[0]!r}, which "
                f"{documents_file.name} does not hold"
            )
        questions[id] = Question(
            id,
            _clean(fields.required("question", "text")),
            _texts(fields, "answers", "references") or _texts(fields, "answer", "reference"),
            fields.text("kind", "type"),
            frozenset(relevant),
            fields.text("split"),
        )
    name = (path if path.is_dir() else path.with_suffix("")).resolve().name
    return QASet(name, _not_empty(path, documents.values()), tuple(questions.values()))


def split_questions(
    questions: Sequence[Question],
    fractions: Sequence[float] = FRACTIONS,
    names: Sequence[str] = SPLITS,
    seed: int = 0,
) -> tuple[Question, ...]:
    """The questions, in their order, with splits drawn by `seed` and of about these fractions.

    What a question gets depends on the set of questions, not on their order. Each kind is split
    alike, and questions of the same words (case aside) get the same split. Raises ValueError for
    fractions that do not sum to 1.
    """
    if len(fractions) != len(names) or abs(sum(fractions) - 1) > 1e-9 or min(fractions) < 0:
        raise ValueError(f"fractions {tuple(fractions)} of splits {tuple(names)} do not sum to 1")
    alike: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        alike[" ".join(question.text.casefold().split())].append(question)
    kinds: dict[str, list[str]] = defaultdict(list)
    for text, group in alike.items():
        kinds[min(each.kind for each in group)].append(text)
    drawn: dict[str, str] = {}
    for texts in kinds.values():
        ranked = sorted(texts, key=lambda text: hashlib.sha256(f"{seed}\0{text}".encode()).digest())
        total = sum(len(alike[text]) for text in ranked)
        done = 0
        for text in ranked:
            place = (done + len(alike[text]) / 2) / total
            drawn[text] = _name_at(place, fractions, names)
            done += len(alike[text])
    return tuple(
        replace(each, split=drawn[" ".join(each.text.casefold().split())]) for each in questions
    )


def with_dev(qa_set: QASet, fraction: float = 0.15, seed: int = 0) -> QASet:
    """The set with about this fraction of its "train" questions in "dev"; others keep theirs.

    A set that has "dev" questions already is returned as it is.
    """
    counts = Counter(question.split for question in qa_set.questions)
    if counts["dev"] or not counts["train"]:
        return qa_set
    train = split_questions(
        qa_set.of_split("train"), (1 - fraction, fraction), ("train", "dev"), seed
    )
    drawn = {question.id: question for question in train}
    return replace(qa_set, questions=tuple(drawn.get(each.id, each) for each in qa_set.questions))


def _name_at(place: float, fractions: Sequence[float], names: Sequence[str]) -> str:
    upto = 0.0
    for fraction, name in zip(fractions, names, strict=True):
        upto += fraction
        if place < upto:
            return name
    return names[-1]


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


def _set(
    name: str, path: str | Path, documents: Sequence[Document], questions: dict[str, Question]
) -> QASet:
    kept = tuple(each for each in questions.values() if each.references)
    if not kept:
        raise CorpusError(f"{path}: holds no question with a reference answer")
    return QASet(name, _not_empty(path, documents), kept, len(questions) - len(kept))


def _not_empty(path: str | Path, documents: "Sequence[Document] | Any") -> tuple[Document, ...]:
    found = tuple(documents)
    if not found:
        raise CorpusError(f"{path}: holds no document")
    return found


def _lines(path: str | Path) -> Iterator[Fields]:
    for line, values in read_objects(path):
        yield Fields(values, path, line)


def _file(folder: Path, *names: str) -> Path | None:
    paths = (folder / f"{name}.jsonl{end}" for name in names for end in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)


def _once(known: dict[str, Any], place: str, id: str) -> None:
    if id in known:
        raise CorpusError(f"{place}: id {id} comes twice")


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


def _texts(fields: Fields, *names: str) -> tuple[str, ...]:
    """The first field of these that is there, a text or a list of texts, without empty ones."""
    for name in names:
        if isinstance(fields.values.get(name), list):
            return tuple(text for each in fields.texts(name) if (text := _clean(each)))
        if fields.text(name):
            return (_clean(fields.text(name)),)
    return ()


def _clean(text: str) -> str:
    """Text that can be encoded: half a surrogate pair becomes the replacement character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.strip()


def _snippet(values: Any, place: str) -> Snippet:
    fields = _fields(values, f"{place}, snippets")
    offset = values.get("offset", 0)
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise CorpusError(f"{fields.place}: offset is no whole number: {offset!r:.40}")
    return Snippet(
        fields.required("pmid"), fields.text("section"), offset, _clean(fields.required("text"))
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
    label, text = _clean(fields.text("label")), _clean(fields.text("text"))
    return f"{label}: {text}" if label and text else text


def _exact(value: Any) -> dict[str, str]:
    """BioASQ's exact answer as one text: synonyms with " | ", items of a list with "; "."""
    if not value:
        return {}
    if isinstance(value, str):
        return {"exact_answer": value}
    items = [" | ".join(map(str, each)) if isinstance(each, list) else str(each) for each in value]
    return {"exact_answer": "; ".join(items)}
