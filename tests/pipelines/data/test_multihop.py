import gzip
import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.failures import CorpusError
from pipelines.data.multihop import load_hop_set
from pipelines.realm.types import Hop
from tests.pipelines.realm.pools import rows, write

SHARED = Path(os.environ.get("SEEKRAY_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_shared = pytest.mark.skipif(
    not (SHARED / "multihop" / "musique.jsonl").is_file(), reason=f"no multi-hop data in {SHARED}"
)


def load(tmp_path, *lines, corpus=None, **options):
    if corpus is not None:
        options["corpus"] = write(tmp_path / "corpus.jsonl", corpus)
    return load_hop_set(write(tmp_path / "set.jsonl", list(lines)), **options)


def test_a_question_with_its_own_decomposition(tmp_path):
    found = load(tmp_path, *rows())
    question = found.questions[1]
    assert question.id == "q1"
    assert question.answers == ("Borrow", "Borrow town")
    assert (question.hops, question.kind, question.split) == (2, "2hop", "train")
    assert question.relevant == {"q1#0", "q1#1"}
    assert question.decomposition == (
        Hop(
            "Who directed Red Lantern?",
            "Ben Stone",
            "q1#0",
            "Red Lantern is a film directed by Ben Stone.",
        ),
        Hop("Where was #1 born?", "Borrow", "q1#1", "Ben Stone was born in Borrow in 1910."),
    )
    assert found.origins == {"decomposition": 4}
    assert found.name == "set"


def test_equal_passages_are_one_and_ids_follow(tmp_path):
    lines = rows()
    again = {"id": "other", "title": "Ada Brook", "text": lines[0]["paragraphs"][1]["text"]}
    lines[3]["paragraphs"].append(again)
    lines[3]["supporting"].append("other")
    lines[3]["decomposition"][0]["paragraph"] = "other"
    found = load(tmp_path, *lines)
    # 4 films, 4 people, one "Cinema" of four, and the one that comes again
    assert (len(found.passages), found.merged) == (9, 4)
    assert [passage.id for passage in found.passages][:4] == ["q0#0", "q0#1", "q0#2", "q1#0"]
    assert "q0#1" in found.questions[3].relevant
    assert "other" not in found.questions[3].relevant
    assert found.questions[3].decomposition[0].passage == "q0#1"
    assert {hop.passage for each in found.questions for hop in each.decomposition} <= {
        passage.id for passage in found.passages
    }


def test_the_same_title_with_another_text_is_another_passage(tmp_path):
    lines = rows()
    lines[0]["paragraphs"].append({"id": "x", "title": "Cinema", "text": "Cinema is dead."})
    assert len(load(tmp_path, *lines).passages) == 10


def test_passages_by_id_from_a_corpus_file(tmp_path):
    corpus = [each for line in rows() for each in line["paragraphs"]][:6]
    corpus.append({"id": "far", "title": "Far", "text": "Nobody asks for this."})
    line = rows()[1]
    line["passages"] = ["q1#0", "q1#1"]
    del line["paragraphs"]
    found = load(tmp_path, line, corpus=corpus)
    assert found.questions[0].relevant == {"q1#0", "q1#1"}
    assert [passage.id for passage in found.passages] == [
        "q0#0", "q0#1", "q0#2", "q1#0", "q1#1", "far",
    ]  # fmt: skip
    assert found.questions[0].decomposition[1].evidence == "Ben Stone was born in Borrow in 1910."


def test_the_least_that_a_line_may_have(tmp_path):
    line = {"id": "a", "question": "Why?", "answers": ["so", "thus"], "paragraphs": [{"text": "T"}]}
    found = load(tmp_path, line)
    question = found.questions[0]
    assert (question.answers, question.decomposition, question.hops) == (("so", "thus"), (), 0)
    assert found.passages[0].id == "a#0"
    assert found.origins == {"none": 1}


def test_hops_of_triples_and_of_supporting_sentences(tmp_path):
    line = rows()[0]
    del line["decomposition"]
    for paragraph in line["paragraphs"][:2]:
        paragraph["sentences"] = ["Nothing.", paragraph["text"]]
    facts = [["q0#0", 1], ["q0#0", 1], ["q0#1", 9]]  # one twice, one out of range
    line["supporting_facts"] = facts
    triples = [["Silver Tide", "director", "Ada Brook"], ["Ada Brook", "place of birth", "Arlen"]]
    found = load(tmp_path, line | {"evidence_triples": triples})
    expected = load(tmp_path, rows()[0])
    assert found.origins == {"triples": 1}
    assert found.questions[0].decomposition == expected.questions[0].decomposition
    found = load(tmp_path, line | {"type": "bridge"})
    assert found.origins == {"paragraphs": 1}
    first, last = found.questions[0].decomposition
    assert (first.answer, first.passage, last.passage) == ("Ada Brook", "q0#0", "q0#1")
    assert first.evidence == "Silver Tide is a film directed by Ada Brook."
    found = load(
        tmp_path, line | {"evidence_triples": triples, "supporting": [], "supporting_facts": []}
    )
    assert found.origins == {"none": 1}


def test_gz_and_not_answerable_questions(tmp_path):
    lines = rows()
    lines[2]["answerable"] = False
    path = tmp_path / "films.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    found = load_hop_set(path)
    assert [each.id for each in found.questions] == ["q0", "q1", "q3"]
    assert (found.name, found.dropped, len(found.passages)) == ("films", 1, 9)


def test_splits_of_the_file_stand_where_it_has_a_test_split(tmp_path):
    lines = rows()
    for line, split in zip(lines, ("train", "validation", "TEST", "dev"), strict=True):
        line["split"] = split
    assert [each.split for each in load(tmp_path, *lines).questions] == [
        "train", "dev", "test", "dev",
    ]  # fmt: skip


def many(count, split):
    for n in range(count):
        yield {
            "id": f"m{n}",
            "question": f"Question number {n}?",
            "answer": str(n),
            "split": split,
            "paragraphs": [{"text": f"text {n}"}],
        }


def test_held_out_questions_are_drawn_into_dev_and_test(tmp_path):
    lines = list(many(300, "dev"))
    found = load(tmp_path, *lines)
    assert Counter(each.split for each in found.questions) == {"dev": 100, "test": 200}
    splits = {each.id: each.split for each in found.questions}
    random.Random(0).shuffle(lines)
    assert {each.id: each.split for each in load(tmp_path, *lines).questions} == splits
    assert {each.id: each.split for each in load(tmp_path, *lines, seed=1).questions} != splits


def test_questions_of_no_known_split_are_drawn_into_all_three(tmp_path):
    found = load(tmp_path, *many(200, "unknown"))
    assert Counter(each.split for each in found.questions) == {"train": 140, "dev": 30, "test": 30}
    assert len(found.of_split("dev", "test")) == 60
    with pytest.raises(CorpusError, match=r"no question of split other \(splits there: dev, test"):
        found.of_split("other")


def change(**fields):
    return lambda line: line.update(fields)


BROKEN = [
    (change(answer="", aliases=[]), "question q0 has no answer"),
    (change(question=""), "no question"),
    (change(supporting=["nowhere"]), "supporting names passage nowhere"),
    (change(supporting="q0#0"), "supporting is not a list"),
    (change(paragraphs=[]), "supporting names passage q0#0"),
    (change(paragraphs=["nowhere"]), "paragraphs names passage nowhere"),
    (change(paragraphs=[7]), "paragraph 0 is neither an object nor an id: 7"),
    (change(paragraphs=[{"id": "a", "title": "t"}]), "paragraph 0: passage a has no text"),
    (change(paragraphs="x"), "paragraphs is not a list"),
    (change(decomposition=["x"]), "hop 1: not an object"),
    (change(decomposition=[{"question": "x", "paragraph": "q0#0"}]), "hop 1: no answer"),
    (
        change(decomposition=[{"question": "x", "answer": "y", "paragraph": "z"}]),
        "hop 1: paragraph names passage z",
    ),
    (change(decomposition=[], evidence_triples=[["a", "b"]]), "evidence triple is not three texts"),
    (change(decomposition=[], supporting_facts=[["q0#0"]]), "supporting fact is not"),
    (change(decomposition=[], supporting_facts=[["q9", 0]]), "supporting_facts names passage q9"),
    (change(hops="two"), "hops is no whole number"),
    (change(split="week"), "split 'week' is none of train, dev, test"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_a_bad_line_is_named(tmp_path, broken, message):
    lines = rows()
    broken(lines[0])
    with pytest.raises(CorpusError, match=r"set\.jsonl, line 1") as error:
        load(tmp_path, *lines)
    assert message in str(error.value)


def test_bad_files(tmp_path):
    with pytest.raises(CorpusError, match=r"line 2: id q0 comes twice"):
        load(tmp_path, rows()[0], rows()[0])
    with pytest.raises(CorpusError, match="holds no question"):
        load(tmp_path)
    bare = {"id": "a", "question": "Why?", "answer": "so"}
    with pytest.raises(CorpusError, match="holds no passage; name a corpus file"):
        load(tmp_path, bare)
    with pytest.raises(CorpusError, match="cannot be read"):
        load_hop_set(tmp_path / "nothing.jsonl")
    torn = rows()[1]
    torn["paragraphs"][0]["id"] = "q0#0"
    with pytest.raises(CorpusError, match="passage id q0#0 has another title or text before"):
        load(tmp_path, rows()[0], torn)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("xyz")), min_size=1, max_size=12))
def test_pooling_keeps_one_of_each_and_every_id_finds_its_content(tmp_path_factory, contents):
    line = {"id": "q", "question": "Why?", "answer": "so", "paragraphs": []}
    for n, (title, text) in enumerate(contents):
        line["paragraphs"].append({"id": str(n), "title": title, "text": text})
    lines = [
        line | {"id": f"q{n}", "paragraphs": line["paragraphs"], "supporting": [str(n)]}
        for n in range(len(contents))
    ]
    found = load(tmp_path_factory.mktemp("pool"), *lines)
    pooled = {passage.id: (passage.title, passage.text) for passage in found.passages}
    assert list(pooled.values()) == list(dict.fromkeys(contents))
    for question, content in zip(found.questions, contents, strict=True):
        assert [pooled[id] for id in question.relevant] == [content]


@needs_shared
@pytest.mark.parametrize(
    ("name", "questions", "passages", "origin"),
    [
        ("musique", 417, 6727, "decomposition"),
        ("hotpotqa", 715, 7019, "paragraphs"),
        ("2wikimultihopqa", 963, 5893, "triples"),
    ],
)
def test_real_sets(name, questions, passages, origin):
    found = load_hop_set(SHARED / "multihop" / f"{name}.jsonl")
    assert (len(found.questions), len(found.passages)) == (questions, passages)
    assert found.origins == {origin: questions}
    assert {each.split for each in found.questions} == {"train", "dev", "test"}
    texts = {passage.id: passage.text for passage in found.passages}
    for question in found.questions:
        assert question.decomposition[-1].answer == question.answers[0]
        assert len(question.decomposition) >= 2
        for number, hop in enumerate(question.decomposition, 1):
            assert hop.question
            assert hop.answer
            assert hop.passage == "" or hop.passage in question.relevant
            assert bool(hop.evidence) == bool(hop.passage)
            references = [
                int(part[0]) for part in hop.question.split("#")[1:] if part[:1].isdigit()
            ]
            assert all(reference < number for reference in references)
            if hop.evidence and name == "musique":
                assert hop.evidence in texts[hop.passage]


@needs_shared
def test_a_real_corpus_of_distractors_adds_its_passages():
    folder = SHARED / "multihop"
    found = load_hop_set(
        folder / "2wikimultihopqa.jsonl", corpus=folder / "2wikimultihopqa_hipporag_corpus.jsonl"
    )
    assert len(found.passages) == 6119 + 5893 - 977  # these are in both
    known = {passage.id for passage in found.passages}
    assert all(question.relevant <= known for question in found.questions)
