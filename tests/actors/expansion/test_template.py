"""Special tokens, windows and joined ids, against the tokenizer's own."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.expansion.joining import ChunkTokens
from actors.expansion.template import Template, longest_first
from actors.packing import batches_of
from tests.tiny_cross_encoder import write_cross_encoder

WORDS = ["gout", "a1", "old", "x", "zz top", " ", "\n", "Ünïcode", "!?"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map("".join), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(write_cross_encoder(tmp_path_factory.mktemp("t") / "bert"))


@pytest.fixture(scope="module")
def bytes_tokenizer(tiny_model: Path):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_model)


@given(texts, st.integers(1, 40))
def test_joined_ids_are_those_of_the_joined_text(bert, bytes_tokenizer, parts, most) -> None:
    for tokenizer in (bert, bytes_tokenizer):
        chunks = ChunkTokens(tokenizer)
        chunks.learn(parts)
        whole = tokenizer("\n".join(parts), add_special_tokens=False)["input_ids"]
        assert chunks.joined(parts, most) == (whole[:most], len(whole))


def test_chunks_are_tokenised_once(bert) -> None:
    calls = []

    class Counting:
        def __call__(self, given, **options):
            calls.append(given)
            return bert(given, **options)

    chunks = ChunkTokens(Counting(), keep=1)
    calls.clear()
    for _ in range(3):
        chunks.learn(["gout", "zinc"])
        chunks.joined(["gout", "zinc"], 9)
    assert calls == [["gout", "zinc"], ["a\ngout\nb", "a\nzinc\nb"]]
    chunks.forget()
    chunks.learn(["zinc", "gout"])
    assert calls[2:] == [["gout"], ["a\ngout\nb"]]


@given(st.integers(0, 30), st.integers(1, 30), st.integers(6, 32))
def test_a_pair_is_cut_as_the_tokenizer_cuts_it(bert, first: int, second: int, window: int) -> None:
    query, text = " ".join("q" * first), " ".join("z" * second)
    expected = bert(
        query, text, truncation="longest_first", max_length=window, return_token_type_ids=True
    )
    made = Template(bert, window, pair=True).pair(
        bert(query, add_special_tokens=False)["input_ids"],
        bert(text, add_special_tokens=False)["input_ids"],
        second,
    )
    assert list(made.ids) == expected["input_ids"]
    assert made.tokens == first + second + 3
    assert made.truncated == (made.tokens > window)
    tensors = Template(bert, window, pair=True).tensors([made])
    assert tensors["token_type_ids"][0].tolist() == expected["token_type_ids"]


def test_padding_is_masked(bert) -> None:
    template = Template(bert, 32, pair=False)
    inputs = [template.single([7, 8, 9], 3), template.single([7], 1)]
    tensors = template.tensors(inputs)
    cls, sep = bert.cls_token_id, bert.sep_token_id
    assert tensors["input_ids"].tolist() == [[cls, 7, 8, 9, sep], [cls, 7, sep, 0, 0]]
    assert tensors["attention_mask"].tolist() == [[1] * 5, [1, 1, 1, 0, 0]]


def test_a_window_without_room(bert) -> None:
    with pytest.raises(ValueError, match="a window of 3 tokens has no room"):
        Template(bert, 3, pair=True)


def test_longest_first_by_hand() -> None:
    assert longest_first(4, 9, 10) == (4, 6)
    assert longest_first(9, 4, 10) == (6, 4)
    assert longest_first(9, 9, 7) == (3, 4)
    assert longest_first(2, 3, 10) == (2, 3)


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 120))
def test_batches_keep_their_budget(lengths: list[int], budget: int) -> None:
    batches = batches_of(lengths, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
