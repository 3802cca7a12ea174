import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.data.chunking import chunk_documents
from pipelines.data.chunks import Document
from pipelines.data.failures import CorpusError
from pipelines.data.tokens import TokenCounter


@pytest.fixture(scope="module")
def counter(tiny_model):
    return TokenCounter(tiny_model)


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """A tokenizer of one token a letter, white space none: token counts can be seen."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {letter: i for i, letter in enumerate(map(chr, range(33, 127)))}
    vocabulary["�"] = len(vocabulary)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="�"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")]
    )
    folder = tmp_path_factory.mktemp("letters")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="�").save_pretrained(folder)
    return TokenCounter(folder)


def texts(chunks):
    return [chunk.text for chunk in chunks]


def chunked(letters, *parts, size=8, overlap=0):
    return texts(chunk_documents([Document("D", parts)], letters, size=size, overlap=overlap))


def test_sentences_are_kept_whole(letters):
    # 4 + 4 = 8 fit; the next sentence is 6
    assert chunked(letters, "Aaa. Bbb.  Ccccc. Dd.") == ["Aaa. Bbb.", "Ccccc.", "Dd."]


def test_parts_are_kept_whole_where_they_fit_and_parted_by_a_line_break(letters):
    assert chunked(letters, "Aaa.", "Bb.", "Cc. Dd.", "E.") == ["Aaa.\nBb.", "Cc. Dd.\nE."]


def test_a_part_that_is_too_long_fills_what_was_begun(letters):
    assert chunked(letters, "Aaa.", "Bbb. Ccc. Ddd.") == ["Aaa.\nBbb.", "Ccc. Ddd."]


def test_a_long_sentence_is_cut_between_words(letters):
    assert chunked(letters, "aa bbb ccc dd eeee ff gg") == ["aa bbb ccc", "dd eeee ff", "gg"]


def test_a_long_word_is_cut_between_letters(letters):
    assert chunked(letters, "ab cdefghijklmnopqrstu v") == ["ab", "cdefghij", "klmnopqr", "stu v"]


def test_a_chunk_begins_with_the_last_sentences_of_the_one_before(letters):
    found = chunked(letters, "Aa. B. Cc. Dd. Ee. Ff.", size=8, overlap=4)
    assert found == ["Aa. B. Cc.", "Cc. Dd.", "Dd. Ee.", "Ee. Ff."]


def test_the_last_words_of_a_sentence_that_is_longer_than_the_overlap(letters):
    assert chunked(letters, "aa bbb cc. Dddd.", overlap=4) == ["aa bbb cc.", "cc. Dddd."]


def test_what_is_repeated_gives_way_to_a_whole_part(letters):
    assert chunked(letters, "Aaa. Bbb.", "Ccc. Ddd.", overlap=4) == ["Aaa. Bbb.", "Ccc. Ddd."]


def test_chunks_know_their_document_and_cost(letters):
    documents = [Document("7", ("Aaa. Bbb.", "Ccc."), "T"), Document("8", (" ", "")),
                 Document("x#0", ("E.",))]  # fmt: skip
    found = chunk_documents(documents, letters, size=8)
    assert [(c.id, c.document, c.title, c.tokens) for c in found] == [
        ("7#0", "7", "T", 8), ("7#1", "7", "T", 4), ("x#0#0", "x#0", "", 2)
    ]  # fmt: skip


@pytest.mark.parametrize(("size", "overlap"), [(7, 0), (8, 5), (8, -1)])
def test_sizes_that_make_no_sense_are_refused(letters, size, overlap):
    with pytest.raises(ValueError, match="must be"):
        chunk_documents([], letters, size=size, overlap=overlap)


def test_a_document_that_comes_twice_is_named(letters):
    with pytest.raises(CorpusError, match="'D' comes twice"):
        chunk_documents([Document("D", ("a",))] * 2, letters)


def test_a_character_of_too_many_tokens_is_an_error_and_no_oversized_chunk(tmp_path):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({"b": 0, "?": 1}, unk_token="?"))
    tokenizer.normalizer = normalizers.Replace("a", " b" * 9)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?").save_pretrained(tmp_path)
    with pytest.raises(CorpusError, match="document D: 'a' is 9 tokens"):
        chunk_documents([Document("D", ("b a a",))], TokenCounter(tmp_path), size=8)


def test_sentences_that_grow_when_they_are_put_together_still_fit(tmp_path):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = normalizers.Replace("Aa. Bb", "A " * 9)  # Bb. itself is one token
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?").save_pretrained(tmp_path)
    found = chunk_documents(
        [Document("D", ("Cc. Aa.", "Xx. Aa. Bb."))], TokenCounter(tmp_path), size=8
    )
    assert texts(found) == ["Cc. Aa.\nXx. Aa.", "Bb."]


WORD = st.text(alphabet="abcXYZ.,?!-é漢🙂\u0301", min_size=1, max_size=30)
PART = st.lists(st.tuples(WORD, st.sampled_from([" ", "\n", "  ", "\n\n", "\t"])), max_size=25).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)
DOCUMENT = st.lists(PART, max_size=4).map(lambda parts: Document("D", tuple(parts)))
ANY = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@ANY
@given(DOCUMENT, st.integers(8, 80))
def test_chunks_hold_every_character_once_in_order_and_keep_their_size(counter, document, size):
    found = chunk_documents([document], counter, size=size)
    assert "".join("".join(texts(found)).split()) == "".join("".join(document.parts).split())
    assert all(chunk.tokens == counter.count(chunk.text) <= size for chunk in found)
    assert all(chunk.text for chunk in found)
    longest = max((counter.count(word) for part in document.parts for word in part.split()),
                  default=0)  # fmt: skip
    if longest <= size // 2:  # no word had to be cut, with white space before it or without
        assert "\n".join(texts(found)).split() == "\n".join(document.parts).split()


@ANY
@given(DOCUMENT, st.integers(8, 80), st.data())
def test_with_overlap_every_chunk_goes_on_in_the_document(counter, document, size, data):
    overlap = data.draw(st.integers(0, size // 2))
    found = chunk_documents([document], counter, size=size, overlap=overlap)
    whole = "".join("".join(document.parts).split())
    reached = {0}  # several, where the text repeats itself
    for chunk in found:
        assert chunk.tokens == counter.count(chunk.text) <= size
        own = "".join(chunk.text.split())
        starts = {at for at in range(max(reached) + 1) if whole.startswith(own, at)}
        reached = {at + len(own) for at in starts for end in reached if at <= end < at + len(own)}
        assert reached, "a chunk leaves something out, or says nothing new"
    assert len(whole) in reached
    assert found == chunk_documents([document], counter, size=size, overlap=overlap)
