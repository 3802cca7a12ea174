"""How text becomes words: the one rule that both the index and the query languages follow.

Lower case; accents stripped and Greek letters spelt out, as PubMed does; split on everything that
is neither letter nor digit. No stemming, and stop words stay in the index, so that phrases are
exact.
"""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma "
    "tau upsilon phi chi psi omega"
)
_GREEK = {
    ord(letter): name
    for letter, name in zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        _NAMES.split(),
        strict=True,
    )
} | {ord("ς"): "sigma"}
_LATIN = {
    ord("ø"): "o",
    ord("đ"): "d",
    ord("ł"): "l",
    ord("æ"): "ae",
    ord("œ"): "oe",
    ord("ı"): "i",
}
_FOLD = _GREEK | _LATIN


def fold(text: str) -> str:
    """`text` in lower case without accents; `β` becomes `beta`, `ß` becomes `ss`."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold()  # in this order: `℠` is an `SM`
    decomposed = unicodedata.normalize("NFKD", folded)
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    return plain.translate(_FOLD)


def words(text: str) -> list[str]:
    """The words of `text`, in order: `"IL-2 (β)"` gives `["il", "2", "beta"]`."""
    return _WORD.findall(fold(text))
