"""Text that tokenizers read."""


def encodable(text: str) -> str:
    """Half a surrogate pair, which no tokenizer reads, is one "?"; places stay the same."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
