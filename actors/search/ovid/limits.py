"""Ovid's `limit 5 to ...`: languages, groups, ages, dates, publication types, clinical queries.

Age groups are MeSH headings, as Ovid Online Help defines them. The clinical queries are the filters
of McMaster University's Health Information Research Unit, in Ovid syntax as published.
"""

import re
from collections.abc import Iterator
from datetime import date

from actors.search.pubmed.fields import LANGUAGES

AGES = {
    "newborn infant (birth to 1 month)": "exp infant, newborn/",
    "infant (1 to 23 months)": "infant/",
    "infant": "infant/",
    "all infant (birth to 23 months)": "exp infant/",
    "preschool child (2 to 5 years)": "child, preschool/",
    "child (6 to 12 years)": "child/",
    "adolescent (13 to 18 years)": "adolescent/",
    "all child (0 to 18 years)": "exp infant/ or exp child/ or adolescent/",
    "young adult (19 to 24 years)": "young adult/",
    "adult (19 to 44 years)": "adult/",
    "young adult and adult (19-24 and 19-44)": "young adult/ or adult/",
    "middle age (45 to 64 years)": "middle aged/",
    "middle aged (45 plus years)": "middle aged/ or exp aged/",
    "all aged (65 and over)": "exp aged/",
    "aged (80 and over)": "aged, 80 and over/",
    "all adult (19 plus years)": "exp adult/",
}
_CLINICAL = {
    "reviews (maximizes sensitivity)": "meta-analysis.mp,pt. or review.pt. or search*.tw.",
    "reviews (maximizes specificity)": "medline.tw. or systematic review.tw. or meta-analysis.pt.",
    "reviews (best balance of sensitivity and specificity)": (
        "meta-analysis.mp,pt. or medline.tw. or systematic review.tw."
    ),
    "therapy (maximizes sensitivity)": "clinical trial.mp,pt. or random*.mp. or tu.xs.",
    "therapy (maximizes specificity)": "randomized controlled trial.mp,pt.",
    "therapy (best balance of sensitivity and specificity)": (
        "randomized controlled trial.pt. or randomized.mp. or placebo.mp."
    ),
    "diagnosis (maximizes sensitivity)": "sensitiv*.mp. or diagnos*.mp. or di.fs.",
    "diagnosis (maximizes specificity)": "specificity.tw.",
    "diagnosis (best balance of sensitivity and specificity)": (
        "sensitiv*.mp. or predictive value*.mp. or accurac*.tw."
    ),
    "prognosis (maximizes sensitivity)": (
        "incidence.sh. or exp mortality/ or follow-up studies.sh. or prognos*.tw. or predict*.tw."
        " or course*.tw."
    ),
    "prognosis (maximizes specificity)": "prognos*.tw. or first episode.tw. or cohort.tw.",
    "qualitative (maximizes sensitivity)": "interview*.mp. or experience*.mp. or qualitative.tw.",
    "qualitative (maximizes specificity)": "qualitative.tw. or themes.tw.",
    "qualitative (best balance of sensitivity and specificity)": (
        "interview*.tw. or experiences.mp. or qualitative.tw."
    ),
}
_GROUPS = {
    "human": "humans/", "humans": "humans/", "animal": "exp animals/", "animals": "exp animals/",
    "male": "male/", "female": "female/", "yes human": "humans/",
}  # fmt: skip
_TYPES = {
    "review articles": "review", "review": "review", "rct": "randomized controlled trial",
    "randomised controlled trial": "randomized controlled trial", "clinical trial, all": "",
    "clinical trial/all": "",
}  # fmt: skip
_IGNORED = re.compile(
    r"full text|abstracts?|core clinical journals.*|ovid full text.*|medline|.*\bupdates?\b.*"
    r"|nursing journals|dental journals|.*in.process.*|pubmed not medline|.*articles with.*",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?P<key>[a-z]{2})\s{0,9}=(?>\s{0,99})"
    r'(?P<value>"[^"]*"?|[\w/. -]{0,60}?(?=\s{0,9}(?:\)|$|\b(?:and|or)\b)))'
    r'|"(?P<quoted>[^"]*)"|(?P<mark>[()])|(?P<operator>\b(?:and|or|not)\b)'
    r'|(?P<words>(?=\S)(?:(?!\s(?:and|or|not)\s)[^()"]|\([^()"]{0,40}?\d[^()"]{0,40}\))+)',
    re.IGNORECASE,
)
_YEARS = re.compile(r"(\d{4,8})?\s*(?:[-–—]|\bto\b)?\s*(\d{4,8}|current|present)?", re.IGNORECASE)


def limit_items(text: str) -> Iterator[tuple[str, str, str, int]]:
    """(kind, key, value, offset) of each part: `mark` and `operator`, else a limit."""
    for match in _ITEM.finditer(text):
        if match["key"]:
            yield "date", match["key"].lower(), match["value"].strip('" '), match.start()
        elif match["mark"] or match["operator"]:
            yield "mark", "", (match["mark"] or match["operator"]).lower(), match.start()
        else:
            value = (match["quoted"] or match["words"] or "").strip(" .;,")
            if value:
                yield "name", "", " ".join(value.split()), match.start()


def limit_syntax(value: str) -> str | None:
    """The Ovid line that a named limit stands for; None if no index here can answer it."""
    name = value.lower()
    if line := AGES.get(name) or _CLINICAL.get(name) or _GROUPS.get(name):
        return line
    language = name.removesuffix(" language")
    if language in LANGUAGES:
        return f"{language}.la."
    if _IGNORED.fullmatch(name):
        return None
    if name in ("clinical trial, all", "clinical trial/all"):
        return 'exp "clinical trial"/'
    plain = _TYPES.get(name, name).replace('"', "")
    return f'"{plain}".pt.'


def days(text: str) -> tuple[date, date] | None:
    """First and last day of `2000-Current`, `2005`, `201112`, `20111101-20140911`; None if none."""
    match = _YEARS.fullmatch(" ".join(text.split()).strip("$* ").replace("/", ""))
    if match is None or not (match[1] or match[2]):
        return None
    ranged = match[2] is not None or bool(re.search(r"[-–—]|\bto\b", text))
    first = _day(match[1], last=False) if match[1] else date.min
    end = match[2] if ranged else match[1]
    last = date.max if not end or not end[0].isdigit() else _day(end, last=True)
    return (first, last) if first is not None and last is not None else None


def _day(digits: str, last: bool) -> date | None:
    try:
        year = int(digits[:4])
        if len(digits) == 4:
            return date(year, 12, 31) if last else date(year, 1, 1)
        month = int(digits[4:6])
        if len(digits) == 6:
            after = date(year + month // 12, month % 12 + 1, 1) if last else date(year, month, 1)
            return date.fromordinal(after.toordinal() - 1) if last else after
        return date(year, month, int(digits[6:8]))
    except (ValueError, OverflowError):
        return None
