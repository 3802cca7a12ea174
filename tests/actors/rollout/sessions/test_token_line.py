"""Text and ids stay one, wherever the text is cut."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.rollout.sessions.token_line import TokenLine, Tokens


@pytest.fixture(scope="module")
def tokens(tiny_model: Path) -> Tokens:
    return Tokens(str(tiny_model))


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    """A tokenizer of the Llama 2 kind: a blank before the first word, bytes for what is unknown."""
    from tokenizers import Tokenizer, decoders, models, normalizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<s>": 0, "</s>": 1, "<unk>": 2}
    vocabulary |= {f"<0x{byte:02X}>": 3 + byte for byte in range(256)}
    for piece in ["▁", *"abcdefghijklmnopqrstuvwxyz", "ca", "cat", "▁cat", "▁t", "he", "▁the"]:
        vocabulary[piece] = len(vocabulary)
    merges = [("c", "a"), ("ca", "t"), ("▁", "cat"), ("▁", "t"), ("h", "e"), ("▁t", "he")]
    rules = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    rules.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    rules.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    folder = tmp_path_factory.mktemp("model") / "sp"
    PreTrainedTokenizerFast(
        tokenizer_object=rules, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    from transformers import LlamaConfig

    LlamaConfig(eos_token_id=1, vocab_size=len(vocabulary)).save_pretrained(folder)
    return Tokens(str(folder))


TEXTS = st.text(st.sampled_from("Gout Asp irn.\n<end>é日本🙂 "), max_size=24)


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, st.integers(0, 30)), max_size=5))
def test_ids_decode_to_the_text_after_any_edits(
    tokens: Tokens, edits: list[tuple[str, int]]
) -> None:
    line = TokenLine(tokens, [5, 6])
    text = ""
    for added, place in edits:
        line.append(added)
        text += added
        place = min(place, len(text))
        seen = line.ids_at(place)
        line.cut(place)
        text = text[:place]
        assert (line.text, line.ids) == (text, seen)
        assert tokens.decode(line.ids[2:]) == text


def test_written_ids_are_kept_and_a_split_one_is_read_anew(tokens: Tokens) -> None:
    whole = tokens.apart("Aspirin")[0]
    letters = [tokens.apart(letter)[0][0] for letter in "Aspirin"]
    assert len(whole) < len(letters)
    line = TokenLine(tokens, [5])
    for letter, token in zip("Aspirin", letters, strict=True):
        line.write([token], letter)
    line.cut(4)
    assert line.ids == [5, *letters[:4]]  # not the merged tokens of "Aspi"
    other = TokenLine(tokens, [5])
    other.write(whole, "Aspirin")
    other.cut(4)
    assert other.ids == [5, *tokens.apart("Aspi")[0]]


def test_places_outside_of_the_text(tokens: Tokens) -> None:
    line = TokenLine(tokens, [5])
    line.append("ab")
    for place in (-1, 3):
        with pytest.raises(ValueError, match=f"no place {place} in a text of 2 characters"):
            line.cut(place)


def test_special_tokens_in_what_is_appended_are_ordinary_text(tokens: Tokens) -> None:
    (end,) = tokens.end_ids
    assert end in tokens.prompt_ids("a<end>b")
    assert end not in tokens.apart("a<end>b")[0]
    assert tokens.decode(tokens.apart("a<end>b")[0]) == "a<end>b"


def test_half_a_surrogate_pair_keeps_the_places(tokens: Tokens) -> None:
    line = TokenLine(tokens, [5])
    line.append("a\ud800b")
    line.cut(2)
    assert line.text == "a\ud800"
    assert tokens.decode(line.ids[1:]) == "a?"


def test_appended_text_gets_no_blank_of_its_own(sentencepiece: Tokens) -> None:
    """ "cat" after "the" is "thecat", though the tokenizer would write "▁cat" on its own."""
    line = TokenLine(sentencepiece, sentencepiece.prompt_ids("the"))
    line.append("cat the")
    assert sentencepiece.decode(line.ids) == "thecat the"
    line.cut(3)
    assert sentencepiece.decode(line.ids) == "thecat"
    line.append("é")
    assert sentencepiece.decode(line.ids) == "thecaté"
