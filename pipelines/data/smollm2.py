"""From the GGUF file of SmolLM2-135M-Instruct to a model folder."""

from pathlib import Path

from pipelines.data.cache import FetchError

CONTEXT_TOKENS = 8192


def convert(folder: Path, gguf: str, target: Path) -> None:
    """Write the model in `folder/gguf` to `target` as bfloat16 safetensors with its tokenizer.

    bfloat16 is what the model was trained in and what rollout engines load: the learner's float32
    master weights then start at exactly the weights that the engine generates with. Raises
    `FetchError` when the tokenizer came out without the chat format.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(str(folder), gguf_file=gguf, local_files_only=True)
    tokenizer.model_max_length = CONTEXT_TOKENS
    model = AutoModelForCausalLM.from_pretrained(
        str(folder),
        gguf_file=gguf,
        local_files_only=True,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    )
    _check_chat(tokenizer)
    model.save_pretrained(str(target))
    tokenizer.save_pretrained(str(target))


def _check_chat(tokenizer: object) -> None:
    turn = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    shown = tokenizer.apply_chat_template(  # type: ignore[attr-defined]
        turn, tokenize=False, add_generation_prompt=True
    )
    expected = (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
    )
    eos = tokenizer.eos_token  # type: ignore[attr-defined]
    if shown != expected or eos != "<|im_end|>":
        raise FetchError(
            f"the converted tokenizer does not follow the chat format (eos {eos!r}, prompt "
            f"{shown!r}): this transformers release reads GGUF differently; install the locked one"
        )
