import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from pipelines.data.task import Pico
from pipelines.deepretrieval.language import LANGUAGES
from pipelines.deepretrieval.prompt import (
    PICO_EXPLAINED,
    Prompter,
    PromptTooLongError,
    messages,
    need_lines,
)

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
FULL = Pico("adults", "aspirin", "placebo", "stroke")


def tokenizer(template=TEMPLATE):
    """One token a byte, so that lengths are those of the text; it adds a start token on its own."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(["<s>"])
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", inner.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, chat_template=template, bos_token="<s>", name_or_path="tiny"
    )


def shown(need, **options):
    prompter = Prompter(tokenizer(), max_tokens=10_000, **options)
    return prompter.tokenizer.decode(prompter.ids(need))


def test_need_lines_leave_out_missing_fields():
    assert need_lines(FULL) == "P: adults\nI: aspirin\nC: placebo\nO: stroke"
    assert need_lines(Pico("adults", outcome="stroke")) == "P: adults\nO: stroke"


def test_a_free_text_need_is_one_question_line():
    assert need_lines("does aspirin help?") == "Question: does aspirin help?"
    assert need_lines("does aspirin\n\nhelp?\n") == "Question: does aspirin help?"
    assert need_lines(Pico("adults\nand children")) == "P: adults and children"


def test_the_full_prompt_says_what_the_paper_says():
    system, user = messages(FULL, "full")
    assert (system["role"], user["role"]) == ("system", "user")
    text = user["content"]
    for part in ("PubMed", PICO_EXPLAINED, "AND and OR", "parentheses", "<think></think>"):
        assert part in text
    assert '<answer></answer> as a JSON object: {"query": "..."}' in text
    assert text.endswith("\n" + need_lines(FULL))


def test_a_free_text_need_comes_without_an_explanation_of_pico():
    text = messages("what {helps} in gout?", "full", LANGUAGES["trials"])[1]["content"]
    assert "PICO" not in text
    assert "ClinicalTrials.gov" in text
    assert "relevant trials" in text
    assert text.endswith("\nQuestion: what {helps} in gout?")


def test_an_engine_of_free_text_is_asked_without_the_boolean_note():
    dense = LANGUAGES["dense"]
    full = messages("gout", "full", dense)[1]["content"]
    assert "AND" not in full
    assert "parentheses" not in full
    system, user = messages("gout", "short", dense)
    assert system["content"] == "You write semantic search queries."
    assert user["content"] == (
        'Think, then write a semantic search query as <answer>{"query": "..."}</answer>.'
        "\nQuestion: gout"
    )


def test_the_short_prompt_is_one_line_and_the_need():
    system, user = messages(FULL, "short")
    assert system["content"] == "You write PubMed queries."
    instruction, *lines = user["content"].split("\n")
    assert '<answer>{"query": "..."}</answer>' in instruction
    assert "\n".join(lines) == need_lines(FULL)


@pytest.mark.parametrize("style", ["full", "short"])
@pytest.mark.parametrize("need", [FULL, "gout?"])
def test_ids_are_the_chat_template_and_nothing_else(style, need):
    system, user = (m["content"] for m in messages(need, style))
    chat = f"<|system|>{system}<|end|><|user|>{user}<|end|><|assistant|>"
    assert shown(need, style=style, open_think=False) == chat
    assert shown(need, style=style, open_think=True) == chat + "<think>"


def test_encode_adds_no_special_tokens():
    prompter = Prompter(tokenizer())
    assert len(prompter.tokenizer("abc")["input_ids"]) == 4
    assert len(prompter.encode("abc")) == 3
    assert prompter.tokenizer.decode(prompter.encode("b\u00e9ta")) == "b\u00e9ta"


def test_a_prompt_at_the_limit_passes_and_one_over_it_is_refused_by_name():
    length = len(shown("gout?"))  # ASCII: one token a character
    assert len(Prompter(tokenizer(), max_tokens=length).ids("gout?", "q7")) == length
    with pytest.raises(PromptTooLongError, match=rf"task 'q7' has {length} tokens, over") as error:
        Prompter(tokenizer(), max_tokens=length - 1).ids("gout?", "q7")
    assert "rollout.max_prompt_tokens" in str(error.value)


def test_a_tokenizer_without_a_chat_template_is_refused():
    with pytest.raises(ValueError, match="'tiny' has no chat template"):
        Prompter(tokenizer(template=None))
