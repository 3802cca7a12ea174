import json
import os
from pathlib import Path

import pytest

from pipelines.corag.ranking_lists import ListShape, article_lists, msmarco_lists
from pipelines.data.failures import CorpusError
from pipelines.data.qa_sets import load_qa_set
from tests.pipelines.corag.ranking_toys import (
    snippet,
    word_vectors,
    write_bioasq,
    write_msmarco,
)

SHARED = Path(os.environ.get("SEEKRAY_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
PASSAGES = SHARED / "passages"


def _leaks(path, lists):
    """Questions and articles' texts of other parts that a training list holds."""
    qa_set = load_qa_set(path)
    held = {each.text for each in qa_set.questions if each.split == "test"}
    parts = {document.id: document.parts for document in qa_set.documents}
    gold = {
        text
        for each in qa_set.questions
        if each.split == "test"
        for article in each.relevant
        for text in parts[article]
    }
    training = [each for each in lists if each.split == "train"]
    assert training
    texts = {text for each in training for text in each.passages}
    return {each.query for each in training} & held, texts & gold


def test_article_lists(tmp_path):
    path = write_bioasq(tmp_path / "b.jsonl")
    lists = article_lists(path, word_vectors, 0, shape=ListShape(8, 2))
    assert len(lists) == 36
    splits = {each.id: each.split for each in load_qa_set(path).questions}
    for each in lists:
        assert each.split == splits[each.id]
        assert len(each.passages) == len(set(each.passages)) == 8
        assert sum(each.gold) == 2
        disease, drug = each.query.split()[1], each.query.split()[4]
        for text, gold in zip(each.passages, each.gold, strict=True):
            assert gold == ({disease, drug} <= set(text.split()))
        assert len(each.cosines) == (8 if each.split == "train" else 0)


def test_cosines_are_those_of_the_passages(tmp_path):
    lists = article_lists(write_bioasq(tmp_path / "b.jsonl"), word_vectors, 0)
    each = next(each for each in lists if each.split == "train")
    expected = word_vectors(each.passages) @ word_vectors([each.query])[0]
    assert each.cosines == pytest.approx(expected.tolist(), abs=1e-6)


def test_msmarco_lists(tmp_path):
    path = write_msmarco(tmp_path / "m.jsonl")
    lists = msmarco_lists(path, word_vectors, 0)
    assert [each.id for each in lists] == [f"q{number}" for number in range(20)]
    for each in lists:
        place = each.gold.index(True)
        assert each.passages[place].startswith("yes")
        assert each.given[place] == 3
        assert sorted(each.given) == [1, 2, 3, 4, 5, 6]
    assert len({each.gold for each in lists}) > 1  # not where the file has it


def test_the_same_seed_gives_the_same_lists(tmp_path):
    path = write_bioasq(tmp_path / "b.jsonl")
    assert article_lists(path, word_vectors, 0) == article_lists(path, word_vectors, 0)
    assert article_lists(path, word_vectors, 0) != article_lists(path, word_vectors, 1)


def test_no_test_question_and_none_of_its_gold_is_in_a_training_list(tmp_path):
    article = write_bioasq(tmp_path / "b.jsonl")
    marco = write_msmarco(tmp_path / "m.jsonl")
    # an article that a training question and a test question both cite
    rows = [json.loads(line) for line in article.read_text().splitlines()]
    splits = {each.id: each.split for each in load_qa_set(article).questions}
    test = next(row for row in rows if splits[row["id"]] == "test")
    train = next(row for row in rows if splits[row["id"]] == "train")
    train["snippets"].append(test["snippets"][0])
    # a labelled passage of a test question among those of a training question
    lines = [json.loads(line) for line in marco.read_text().splitlines()]
    splits = {each.id: each.split for each in load_qa_set(marco).questions}
    held = next(row for row in lines if splits[row["id"]] == "test")
    seen = next(row for row in lines if splits[row["id"]] == "train")
    seen["passages"][5] = {**held["passages"][2], "bm25_rank": 6, "relevant": 0}
    for path, made in ((article, rows), (marco, lines)):
        path.write_text("".join(json.dumps(row) + "\n" for row in made))
    assert _leaks(article, article_lists(article, word_vectors, 0)) == (set(), set())
    assert _leaks(marco, msmarco_lists(marco, word_vectors, 0)) == (set(), set())


def test_a_passage_that_two_articles_share_is_not_useless_to_its_own_question(tmp_path):
    path = write_bioasq(tmp_path / "b.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows[:30]:
        number = int(row["id"][1:])
        row["snippets"].append(snippet(number, 900, "yes it works"))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for each in article_lists(path, word_vectors, 0, shape=ListShape(12, 3)):
        if "yes it works" in each.passages and int(each.id[1:]) < 30 and sum(each.gold) == 3:
            assert each.gold[each.passages.index("yes it works")]


def test_a_shape_without_room_is_refused():
    with pytest.raises(ValueError, match="lists of 5"):
        ListShape(5, 5)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"none\.jsonl"):
        article_lists(tmp_path / "none.jsonl", word_vectors, 0)


@pytest.mark.long
@pytest.mark.skipif(
    not PASSAGES.is_dir(),
    reason=f"NOT CHECKED: no question sets at {PASSAGES}; set SEEKRAY_SHARED_DATA",
)
@pytest.mark.parametrize("name", ["msmarco_dev_sample", "bioasq_golden", "pubmedqa_chunks"])
def test_no_leak_in_the_real_sets(name):
    path = PASSAGES / f"{name}.jsonl"
    made = msmarco_lists if name.startswith("msmarco") else article_lists
    assert _leaks(path, made(path, word_vectors, 0)) == (set(), set())
