from pathlib import Path

import pytest

from pipelines.realm.answers import find_answer
from pipelines.realm.prompt import EXAMPLES, SEARCH_EXAMPLE, chat_renderer, reasoning_prompt


def plain(chat: list[dict[str, str]]) -> str:
    return "".join(f"[{turn['role']}]{turn['content']}" for turn in chat) + "[assistant]"


def test_a_text_to_complete_ends_where_the_reasoning_starts() -> None:
    prompt = reasoning_prompt(" Who\n wrote it? ")
    assert prompt.text.endswith("\n\nQuestion: Who wrote it?\nReasoning:")
    assert prompt.text.count("Question:") == 3
    assert prompt.stop == ("\nQuestion:",)
    assert "<search>" not in prompt.text
    assert reasoning_prompt("Who?", examples=0).text.count("Question:") == 1


def test_a_chat_has_the_examples_as_turns() -> None:
    prompt = reasoning_prompt("Who wrote it?", render=plain, examples=1)
    assert prompt.text.count("[user]") == 2
    assert prompt.text.endswith("[user]Question: Who wrote it?[assistant]")
    assert (prompt.stop, prompt.thinking) == ((), False)


def test_a_template_that_opens_a_thought_is_noticed() -> None:
    prompt = reasoning_prompt("Who?", render=lambda chat: plain(chat) + "<think>\n")
    assert prompt.thinking
    assert prompt.answer_suffix == "\n</think>\n\nSo the answer is:"
    assert reasoning_prompt("Who?").answer_suffix == "\nSo the answer is:"


def test_search_tags_are_explained_and_shown() -> None:
    prompt = reasoning_prompt("Who?", style="search_tags")
    assert prompt.text.count("<search>") == 2
    assert SEARCH_EXAMPLE[1] in prompt.text


def test_every_example_gives_its_answer() -> None:
    assert [find_answer(chain) for _, chain in (*EXAMPLES, SEARCH_EXAMPLE)] == [
        "Czech Republic",
        "the Tagus",
        "Czech Republic",
    ]


def test_bad_prompts_are_refused() -> None:
    with pytest.raises(ValueError, match="no text"):
        reasoning_prompt("  ")
    with pytest.raises(ValueError, match="haiku"):
        reasoning_prompt("Who?", style="haiku")


def test_a_tokenizer_without_a_template_completes() -> None:
    class Bare:
        chat_template = None

    assert chat_renderer(Bare()) is None


def test_a_template_without_a_system_role_gets_the_instruction_with_the_question(
    tiny_model: Path,
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(tiny_model))
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
        "{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    render = chat_renderer(tokenizer)
    assert render is not None
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    assert render(chat) == "[user]Be brief.\n\nWho?[assistant]"
    tokenizer.chat_template = "{{ raise_exception('never') }}"
    render = chat_renderer(tokenizer)
    assert render is not None
    with pytest.raises(Exception, match="never"):
        render(chat)
