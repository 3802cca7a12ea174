import gzip
import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.chunks import Document, Question
from pipelines.data.failures import CorpusError
from pipelines.data.qa_sets import (
    QASet,
    load_bioasq,
    load_jsonl_set,
    load_msmarco,
    load_pubmedqa,
    load_qa_set,
    split_questions,
    with_dev,
)


def write(path, *rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def snippet(pmid, offset, text, section="abstract"):
    return {"pmid": pmid, "section": section, "offset": offset, "text": text}


BIOASQ = (
    {
        "id": "q1", "question": "Is A a drug? ", "type": "yesno", "exact_answer": "yes",
        "ideal_answer": ["Yes, A is.", "", "It is."],
        "snippets": [snippet("20", 8, "drug B. And"), snippet("3", 0, "C."),
                     snippet("20", 0, "On A", "title")],
    },
    {
        "id": "q2", "question": "Which drugs?", "type": "list",
        "exact_answer": [["A", "alpha"], ["B"]], "ideal_answer": ["A and B."],
        "snippets": [snippet("20", 0, "A is no drug B."), snippet("20", 50, "Far.")],
    },
)  # fmt: skip


def test_bioasq_documents_are_articles_with_each_stretch_once(tmp_path):
    found = load_bioasq(write(tmp_path / "b.jsonl", *BIOASQ))
    assert found.documents == (
        Document("20", ("On A", "A is no drug B. And", "Far."), "On A"),
        Document("3", ("C.",)),
    )
    first, second = found.questions
    assert first == Question(
        "q1", "Is A a drug?", ("Yes, A is.", "It is."), "yesno", frozenset({"20", "3"}),
        "", {"exact_answer": "yes"},
    )  # fmt: skip
    assert second.facts == {"exact_answer": "A | alpha; B"}
    assert second.relevant == {"20"}


def test_bioasq_documents_may_be_questions(tmp_path):
    found = load_bioasq(write(tmp_path / "b.jsonl", *BIOASQ), group="question")
    assert found.documents == (
        Document("q1", ("C.", "On A drug B. And")),
        Document("q2", ("A is no drug B. Far.",)),
    )
    assert [q.relevant for q in found.questions] == [{"q1"}, {"q2"}]
    texts = " ".join(part for d in found.documents for part in (*d.parts, d.title))
    assert not any(q.text in texts for q in found.questions)  # it would be found by itself


def test_pubmedqa_keeps_sections_and_the_official_split(tmp_path):
    rows = [
        {"id": "1", "question": "Q?", "decision": "maybe", "long_answer": "Perhaps.",
         "split": "test", "chunks": [{"label": "AIMS", "text": "To see."},
                                     {"label": "", "text": "We saw."}]},
        {"id": "2", "question": "R?", "decision": "no", "long_answer": "No.", "split": "train",
         "chunks": [{"label": "AIMS", "text": "None."}]},
    ]  # fmt: skip
    path = write(tmp_path / "p.jsonl", *rows)
    found = load_qa_set(path)
    assert found == load_pubmedqa(path)
    assert found.documents[0] == Document("1", ("AIMS: To see.", "We saw."))
    assert found.questions[0] == Question(
        "1", "Q?", ("Perhaps.",), "summary", frozenset({"1"}), "test", {"decision": "maybe"}
    )
    assert found.questions[1].split == "train"


def passage(id, text):
    return {"id": id, "text": text, "bm25_rank": 1, "relevant": 0}


def test_msmarco_answers_are_the_labelled_passages(tmp_path):
    rows = [
        {"id": "1", "question": "q", "passages": [passage("a", "A."), passage("b", "B.")],
         "relevant_ids": ["b"]},
        {"id": "2", "question": "r", "passages": [passage("b", "B."), passage("c", "C.")],
         "relevant_ids": []},
    ]  # fmt: skip
    found = load_msmarco(write(tmp_path / "m.jsonl", *rows))
    assert found.documents == tuple(Document(x, (f"{x.upper()}.",)) for x in "abc")
    assert found.questions == (Question("1", "q", ("B.",), relevant=frozenset({"b"})),)
    assert found.dropped == 1
    rows[1]["passages"][0]["text"] = "Other."
    with pytest.raises(CorpusError, match="line 2: passage b has another text"):
        load_msmarco(write(tmp_path / "m.jsonl", *rows))


def test_any_json_lines(tmp_path):
    folder = tmp_path / "mine"
    write(folder / "documents.jsonl", {"id": 1, "text": "One.", "title": "T"},
          {"_id": "2", "parts": ["Two.", "", "Zwei."]})  # fmt: skip
    assert load_jsonl_set(folder).questions == ()
    rows = [{"id": "q", "question": "How?", "answers": ["So.", "Thus."], "relevant": ["2"],
             "kind": "list"}, {"_id": "r", "text": "Why?"}]  # fmt: skip
    with gzip.open(folder / "questions.jsonl.gz", "wt") as file:
        file.write("\n".join(json.dumps(row) for row in rows))
    found = load_jsonl_set(folder)
    assert found.name == "mine"
    assert found.documents == (Document("1", ("One.",), "T"), Document("2", ("Two.", "Zwei.")))
    assert found.questions == (
        Question("q", "How?", ("So.", "Thus."), "list", frozenset({"2"})),
        Question("r", "Why?"),
    )
    alone = load_qa_set(folder / "documents.jsonl")
    assert (alone.name, alone.documents, alone.questions) == ("documents", found.documents, ())
    assert {q.split for q in load_qa_set(folder).questions} <= {"train", "dev", "test"}


def test_half_a_surrogate_pair_does_not_reach_the_index(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "1", "text": "a\\ud800b \\ud83d\\ude42"}\n')
    assert load_jsonl_set(path).documents[0].parts == ("a\ufffdb 🙂",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"snippets": "none"}, "line 2: snippets is not a list"),
        ({"snippets": ["x"]}, "line 2, snippets: expected an object"),
        ({"snippets": [{"pmid": "1"}]}, "line 2, snippets: no text"),
        ({"snippets": [snippet("1", "7", "t")]}, "line 2, snippets: offset is no whole number"),
        ({"id": "q1"}, "line 2: id q1 comes twice"),
        ({"question": ""}, "line 2: no question"),
        ({"ideal_answer": 3.5}, "line 2: ideal_answer is not text"),
    ],
)
def test_faults_name_file_and_line(tmp_path, change, said):
    path = write(tmp_path / "b.jsonl", BIOASQ[0], {**BIOASQ[1], **change})
    with pytest.raises(CorpusError, match=f"b.jsonl, {said}"):
        load_bioasq(path)


def test_other_faults_are_said(tmp_path):
    with pytest.raises(CorpusError, match="no such file or folder: give a question set"):
        load_qa_set(tmp_path / "none.jsonl")
    with pytest.raises(CorpusError, match=r"holds no documents\.jsonl"):
        load_qa_set(tmp_path)
    path = write(tmp_path / "b.jsonl", *BIOASQ)
    with pytest.raises(CorpusError, match="group is 'page'"):
        load_qa_set(path, group="page")
    with pytest.raises(CorpusError, match="no question with a reference answer"):
        load_bioasq(write(path, {**BIOASQ[0], "ideal_answer": []}))
    with pytest.raises(CorpusError, match=r"for BioASQ, this is jsonl"):
        load_qa_set(write(path, {"id": "1", "text": "t"}), group="question")
    write(tmp_path / "documents.jsonl", {"id": "1", "text": "t"})
    write(tmp_path / "questions.jsonl", {"id": "1", "text": "t", "relevant": ["9"]})
    with pytest.raises(CorpusError, match="relevant names document '9'"):
        load_qa_set(tmp_path)
    with pytest.raises(CorpusError, match="holds no document"):
        load_qa_set(write(path))


def questions(count, kinds=("a", "b")):
    return [Question(str(i), f"Question {i}?", kind=kinds[i % len(kinds)]) for i in range(count)]


def test_splits_have_their_shares_of_every_kind():
    found = split_questions(questions(200))
    assert Counter((q.kind, q.split) for q in found) == {
        (kind, split): count
        for kind in "ab"
        for split, count in (("train", 70), ("dev", 15), ("test", 15))
    }
    assert found != split_questions(questions(200), seed=1)


@given(st.integers(1, 40), st.integers(0, 5), st.randoms())
def test_the_order_of_questions_does_not_matter_and_alike_ones_stay_together(count, seed, order):
    given = questions(count)
    given += [Question(f"{q.id}x", q.text.upper() + " ", kind="c") for q in given[::3]]
    found = {q.id: q.split for q in split_questions(given, seed=seed)}
    shuffled = list(given)
    order.shuffle(shuffled)
    assert {q.id: q.split for q in split_questions(shuffled, seed=seed)} == found
    assert all(found[id] == found[id.removesuffix("x")] for id in found)


def test_fractions_must_sum_to_one():
    with pytest.raises(ValueError, match="do not sum to 1"):
        split_questions(questions(3), (0.5, 0.4), ("train", "test"))


def test_dev_comes_out_of_train_and_test_stays():
    given = split_questions(questions(100), (0.5, 0.5), ("train", "test"))
    random.Random(0).shuffle(list(given))
    made = with_dev(QASet("s", (Document("1", ("t",)),), given), 0.2)
    assert Counter(q.split for q in made.questions) == {"train": 40, "dev": 10, "test": 50}
    assert [q.id for q in made.of_split("test")] == [q.id for q in given if q.split == "test"]
    assert [q.id for q in made.questions] == [q.id for q in given]
    assert with_dev(made) is made
    with pytest.raises(CorpusError, match="no question of split x"):
        made.of_split("x")
