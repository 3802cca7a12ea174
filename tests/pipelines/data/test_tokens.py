import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines.data.tokens import TokenCounter, TokenizerError


@pytest.fixture(scope="module")
def counter(tiny_model):
    return TokenCounter(tiny_model)


TEXTS = ["", "asthma", "Pain of the knee.", "ß 漢字 🙂", " \n\t ", "x" * 500, "<end>"]


def test_counts_are_those_of_the_model_s_own_tokenizer_without_special_tokens(counter, tiny_model):
    from transformers import AutoTokenizer

    own = AutoTokenizer.from_pretrained(str(tiny_model))
    expected = [own(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
    assert [counter.ids(text) for text in TEXTS] == expected
    assert counter.counts(TEXTS) == [len(ids) for ids in expected]
    assert [counter.count(text) for text in TEXTS] == [len(ids) for ids in expected]
    assert counter.count("") == 0


def test_nothing_is_cut_though_the_tokenizer_file_says_so(tiny_model, tmp_path):
    from tokenizers import Tokenizer

    for path in tiny_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    cutting = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    cutting.enable_truncation(4)
    cutting.enable_padding(length=64)
    cutting.save(str(tmp_path / "tokenizer.json"))
    found, whole = TokenCounter(tmp_path), TokenCounter(tiny_model)
    assert found.counts(TEXTS) == whole.counts(TEXTS)
    assert found.fingerprint == whole.fingerprint


def test_half_a_surrogate_pair_counts_as_the_replacement_character(counter):
    assert counter.count("a\ud800b") == counter.count("a?b")
    assert counter.counts(["a\ud800b"]) == [counter.count("a?b")]


def test_many_threads_get_the_same_counts(counter):
    texts = [f"{text} {i}" for i in range(50) for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(counter.count, texts)) == counter.counts(texts)


def test_it_travels_to_other_processes(counter):
    there = pickle.loads(pickle.dumps(counter))
    assert there.fingerprint == counter.fingerprint
    assert there.counts(TEXTS) == counter.counts(TEXTS)


def test_another_vocabulary_has_another_fingerprint(counter, tiny_model, tmp_path):
    for path in tiny_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(text.replace("<end>", "<fin>"))
    (tmp_path / "tokenizer_config.json").unlink()
    assert TokenCounter(tmp_path).fingerprint != counter.fingerprint


def test_a_folder_without_tokenizer_is_named(tmp_path):
    with pytest.raises(TokenizerError, match=str(tmp_path)):
        TokenCounter(tmp_path)
