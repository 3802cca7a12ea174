"""What sort of answer a question asks for, by rules on its words.

The prompt is adapted to it: CORAG lists adaptive prompts among its design options. The types are
BioASQ's (`yesno`, `factoid`, `list`, `summary`) and `comparison`, which BioASQ counts as summary.
"""

import re

QUESTION_TYPES = ("yesno", "factoid", "list", "summary", "comparison")

_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)"
    r"(?:n't)?"
)
_YES_NO = re.compile(rf"{_AUXILIARY}\b")
_LATE_YES_NO = re.compile(rf"(?:[:;,.?!]|--?) ?{_AUXILIARY} [^?]*\?$|[^ ]: (?:an? )[^?]*\?$")
_STATEMENT = re.compile(r"^[^?:]+ (?:is|are|was|were) [^?:]+\.$")
_OPEN = re.compile(r"\b(?:what|which|how|why|when|where|who|explain|describe|summari[sz]e)\b")
_LISTING = re.compile(
    r"(?:please )?(?:list|name|enumerate)\b|.*\b(?:what|which) (?:\w+ )?(?:types|kinds|sorts) of\b"
)
_COMPARISON = re.compile(
    r"\b(?:compare[sd]?|comparison|differences?|differ|distinguish(?:es)?|versus|vs\.?)\b"
    r"|\bsimilarit(?:y|ies)\b"
)
_EXPLAIN = re.compile(
    r"(?:please )?(?:explain|describe|summari[sz]e|discuss|define|outline|how|why)\b"
)
_QUANTITY = re.compile(
    r"\bhow (?:many|much|often|long|old|far|large|big|common|frequent(?:ly)?|high|fast)\b"
    r"|\b(?:what|which) (?:proportion|percentage|number|fraction|age|dose|year|date)\b"
)
_PLACE_TIME_PERSON = re.compile(r"(?:(?:in|at|to|from|by|on|of|with) )?(?:when|where|who|whose)\b")
_EXPLANATORY_NOUN = re.compile(
    r"\b(?:what|which) (?:is|are|was|were) (?:the )?(?:\w+ ){0,2}"
    r"(?:mechanism(?:s? of action)?|functions?|roles?|significance|rationale|purpose|epidemiology"
    r"|pathophysiology|results?|outcomes?|impact|effects?|relevance|importance|association"
    r"|basis)\b"
    r"|\bwhat (?:\w+ )?role\b|\bmechanism of action\b"
)
_DEFINITION = re.compile(r"what(?:'s| is| are) (?:the (?=\w+\??$)|an? )?(?!the )(.+)")
_WHAT = re.compile(r"\b(what|which)\b(.*)")
_PLURAL = re.compile(
    r"[a-z-]*[a-z](?<![suion])s$|\w+(?:ions|oons|ens|criteria|bacteria|phenomena)$"
)
_SINGULAR = frozenset(
    "is was does has this its diabetes rabies measles species series virus disease analysis process"
    " class loss bias basis access stress less across always perhaps".split()
)
_BOUNDARY = frozenset(
    "is are was were do does did can could has have had will would should may might must of in for"
    " to with by that from used on at".split()
)
_DEFINITION_WORDS = 4
_NOUN_PHRASE_WORDS = 5


def question_type(text: str, kind: str = "") -> str:
    """One of `QUESTION_TYPES`. A `kind` that the data set gives is believed; only `summary` is
    looked at for a comparison."""
    words = " ".join(text.lower().split())
    if kind in QUESTION_TYPES:
        return "comparison" if kind == "summary" and _COMPARISON.search(words) else kind
    if _YES_NO.match(words):
        return "yesno"
    if _LISTING.match(words):
        return "list"
    open_question = _OPEN.search(words)
    if not open_question and (_LATE_YES_NO.search(words) or _STATEMENT.search(words)):
        return "yesno"
    if _COMPARISON.search(words):
        return "comparison"
    if _QUANTITY.search(words) or _PLACE_TIME_PERSON.match(words):
        return "factoid"
    if _EXPLAIN.match(words):
        return "summary"
    if _EXPLANATORY_NOUN.search(words):
        return "summary"
    asked = _WHAT.search(words)
    if asked is None:
        return "summary"
    definition = _DEFINITION.match(words)
    if definition and _is_term(definition.group(1).rstrip("?").split()):
        return "summary"
    return "list" if _asks_for_several(asked.group(2)) else "factoid"


def _is_term(words: list[str]) -> bool:
    """Whether "what is ..." asks for a definition of these words."""
    return len(words) <= _DEFINITION_WORDS and _BOUNDARY.isdisjoint(words)


def _asks_for_several(rest: str) -> bool:
    """Whether a plural follows what/which: "what are the ...", "which drugs were ..."."""
    words = re.findall(r"[a-z0-9-]+", rest)
    if not words:
        return False
    if words[0] in ("are", "were"):
        return True
    if words[0] in _BOUNDARY:
        return False
    phrase: list[str] = []
    for word in words[:_NOUN_PHRASE_WORDS]:
        if word in _BOUNDARY:
            following = word
            break
        phrase.append(word)
    else:
        following = ""
    if following in ("are", "were", "do", "have"):
        return True
    head = phrase[-1] if phrase else ""
    return head not in _SINGULAR and bool(_PLURAL.match(head))
