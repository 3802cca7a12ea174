"""Lexical variants: text as canonical words, so that plurals, spellings and hyphens match.

What the language calls EXPANSION[Term]: case, accents, hyphens and possessives do not count;
plurals and British spellings share a form with singulars and American ones. The canonical form is
no English word (`disease` and `diseases` are both `diseas`), and there is no verb stemming.
"""

import re
from functools import lru_cache

from actors.search.text import words

_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b|(?<=s)['’](?=\s|$)")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_HYPHENS = re.compile(r"(\w+)[-\u2010\u2011](\w+)")
_SPELLINGS = {
    "aemi": "emi",
    "oedem": "edem",
    "haem": "hem",
    "paed": "ped",
    "oesoph": "esoph",
    "oestr": "estr",
    "tumour": "tumor",
    "behaviour": "behavior",
    "colour": "color",
    "labour": "labor",
    "odour": "odor",
    "vapour": "vapor",
    "anaesth": "anesth",
    "gynaec": "gynec",
    "rrhoea": "rrhea",
    "foet": "fet",
    "caesar": "cesar",
    "faec": "fec",
    "centre": "center",
    "fibre": "fiber",
    "titre": "titer",
    "litre": "liter",
    "sulph": "sulf",
    "leucocyt": "leukocyt",
    "leucopen": "leukopen",
    "isation": "ization",
    "programme": "program",
    "counsell": "counsel",
    "grey": "gray",
} | {
    stem + "is": stem + "iz"
    for stem in (
        "random hospital immun stabil character local general normal optim standard steril visual "
        "util minim maxim mobil crystal hydrolys"
    ).split()
}
_SPELLING = re.compile("|".join(sorted(_SPELLINGS, key=len, reverse=True)))
_KEPT = frozenset(
    "aids ards sars mers series species diabetes rabies herpes scabies pancreas news always lens "
    "plus yes this has was its bias atlas chaos".split()
)


@lru_cache(maxsize=1 << 18)
def canonical(word: str) -> str:
    """The form that a folded word shares with its plural and its other spellings."""
    if len(word) < 4 or word in _KEPT or not word.isalpha():
        return word
    word = _SPELLING.sub(lambda match: _SPELLINGS[match[0]], word)
    size = len(word)
    if word.endswith("ies") and size > 4:
        return word[:-3] + "y"
    if word.endswith("sis") and size > 5:
        return word[:-2]
    if word.endswith(("ses", "xes", "zes", "ches", "shes")) and size > 5:
        return word[:-2]
    if word.endswith(("se", "xe", "ze", "che", "she")) and size > 4:
        return word[:-1]
    if word.endswith("oes") and size > 5:
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def normal(text: str) -> list[str]:
    """The canonical words of `text`, in order: `"Parkinson's tumours"` gives parkinson, tumor."""
    if "'" in text or "’" in text:
        text = _POSSESSIVE.sub("", text)
    if text.isascii():
        return [canonical(word) for word in _ASCII_WORD.findall(text.lower())]
    return [word for run in text.split() for word in _of_run(run)]


@lru_cache(maxsize=1 << 18)
def _of_run(run: str) -> tuple[str, ...]:
    """The canonical words of text without blanks."""
    return tuple(canonical(word) for word in words(run))


def hyphenated(text: str) -> set[tuple[str, str, str]]:
    """(joined, first, second) of the compounds that `text` hyphenates, in canonical form."""
    found: set[tuple[str, str, str]] = set()
    for run in text.split():
        if "-" in run or "\u2010" in run or "\u2011" in run:
            found |= _compounds(run)
    return found


@lru_cache(maxsize=1 << 16)
def _compounds(run: str) -> frozenset[tuple[str, str, str]]:
    found = set()
    for first, second in _HYPHENS.findall(run):
        left, right, joined = normal(first), normal(second), normal(first + second)
        if len(left) == len(right) == len(joined) == 1:
            found.add((joined[0], left[0], right[0]))
    return frozenset(found)
