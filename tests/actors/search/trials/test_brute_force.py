"""Random expressions over random studies against a plain reading of the rules, study by study."""

import random

import pytest

from actors.search.trials.build import build_trials_index
from actors.search.trials.essie import (
    And,
    Context,
    Expression,
    Missing,
    Not,
    Or,
    Range,
    Term,
    Word,
    to_text,
)
from actors.search.trials.evaluation import Evaluator

WORDS = "alpha beta gamma delta epsilon Alpha BETA".split()
CITIES = ["alpha town", "beta", "gamma"]
STATUSES = ["RECRUITING", "NOT_YET_RECRUITING", "COMPLETED"]
AREA_PIECES = {
    "Condition": ["Condition"],
    "BriefTitle": ["BriefTitle"],
    "Keyword": ["Keyword"],
    "SeeAlsoLinkLabel": ["SeeAlsoLinkLabel"],  # without a column of its own
    "TitleSearch": ["Acronym", "BriefTitle", "OfficialTitle"],
    "LocationCity": ["LocationCity"],
    "ConditionsModule": ["Condition", "Keyword"],
}
SITE_AREAS = ["LocationCity", "LocationStatus"]


def phrase(rng, most=4):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))


def random_study(rng, number):
    def some(make, most=3):
        return [make() for _ in range(rng.randint(0, most))]

    protocol = {
        "identificationModule": {"nctId": f"NCT{number:08d}", "briefTitle": phrase(rng, 6)},
        "statusModule": {},
        "conditionsModule": {
            "conditions": some(lambda: phrase(rng)),
            "keywords": some(lambda: phrase(rng)),
        },
        "referencesModule": {"seeAlsoLinks": [{"label": phrase(rng)} for _ in some(int, 2)]},
        "contactsLocationsModule": {
            "locations": [
                {"city": rng.choice(CITIES), "status": rng.choice(STATUSES)} for _ in some(int)
            ]
        },
        "eligibilityModule": {},
        "designModule": {},
    }
    if rng.random() < 0.7:
        date = f"20{rng.randint(10, 20)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
        protocol["statusModule"]["studyFirstPostDateStruct"] = {"date": date}
    if rng.random() < 0.7:
        protocol["eligibilityModule"]["minimumAge"] = rng.choice(["6 Months", "1 Year", "18 Years"])
    if rng.random() < 0.7:
        protocol["designModule"]["enrollmentInfo"] = {"count": rng.randint(0, 50)}
    return {"protocolSection": protocol}


def pieces_of(study, place=None):
    """Piece -> its values, of a study or of one of its sites."""
    p = study["protocolSection"]
    sites = p["contactsLocationsModule"]["locations"]
    sites = sites if place is None else [sites[place]]
    out = {
        "LocationCity": [s["city"] for s in sites],
        "LocationStatus": [s["status"] for s in sites],
    }
    if place is None:
        out |= {
            "BriefTitle": [p["identificationModule"]["briefTitle"]],
            "Condition": p["conditionsModule"]["conditions"],
            "Keyword": p["conditionsModule"]["keywords"],
            "SeeAlsoLinkLabel": [x["label"] for x in p["referencesModule"]["seeAlsoLinks"]],
            "StudyFirstPostDate": [p["statusModule"][k]["date"] for k in p["statusModule"]],
            "MinimumAge": list(p["eligibilityModule"].values()),
            "EnrollmentCount": [i["count"] for i in p["designModule"].values()],
        }
    return out


def holds(text, words, coverage, cased):
    have, want = text.split(), words
    if not cased:
        have, want = text.lower().split(), [w.lower() for w in words]
    n = len(want)
    starts = [i for i in range(len(have) - n + 1) if have[i : i + n] == want]
    if coverage == "FullMatch":
        return have == want
    if coverage == "StartsWith":
        return 0 in starts
    if coverage == "EndsWith":
        return len(have) - n in starts and len(have) >= n
    return bool(starts)


def reads(study, place, node, context):
    """Whether a study (or one of its sites) holds a leaf."""
    area, coverage, expansion = context
    values = pieces_of(study, place)
    texts = [v for piece in AREA_PIECES.get(area, [area]) for v in values.get(piece, [])]
    if isinstance(node, Missing):
        return not texts
    if isinstance(node, Range):
        if area == "MinimumAge":
            days = {"6 Months": 182.6, "1 Year": 365.25, "18 Years": 6574.5}
            low, high = days[node.low], days[node.high]
            return any(low - 1 <= days[text] <= high + 1 for text in texts)
        low = {"MIN": float("-inf")}.get(node.low, node.low)
        high = {"MAX": float("inf")}.get(node.high, node.high)
        if area == "EnrollmentCount":
            return any(float(low) <= n <= float(high) for n in texts)
        return any(
            (low == float("-inf") or low <= text) and (high == float("inf") or text <= high)
            for text in texts
        )
    if area == "LocationStatus":
        return node.words[0].text in texts
    parts = [word.text.split() for word in node.words]
    words = [word for part in parts for word in part]
    cased = expansion == "None"
    if any(holds(text, words, coverage, cased) for text in texts):
        return True
    if coverage != "Contains" or expansion in ("None", "Term", "Concept"):
        return False
    each = [any(holds(text, part, "Contains", False) for text in texts) for part in parts]
    return all(each) if expansion == "Relaxation" else any(each)


def evaluate(tree, study, place, context):
    """`tree` is nested: (node, *operands)."""
    node, *below = tree
    if isinstance(node, And):
        return all(evaluate(one, study, place, context) for one in below)
    if isinstance(node, Or):
        return any(evaluate(one, study, place, context) for one in below)
    if isinstance(node, Not):
        return not evaluate(below[0], study, place, context)
    if isinstance(node, Context):
        area, coverage, expansion = context
        if node.operator == "SEARCH":
            sites = study["protocolSection"]["contactsLocationsModule"]["locations"]
            return any(evaluate(below[0], study, i, context) for i in range(len(sites)))
        if node.operator == "AREA":
            area = node.value
        elif node.operator == "COVERAGE":
            coverage = node.value
        else:
            expansion = node.value
        return evaluate(below[0], study, place, (area, coverage, expansion))
    return reads(study, place, node, context)


def random_term(rng):
    words = [
        Word(phrase(rng, 2), True) if rng.random() < 0.3 else Word(rng.choice(WORDS))
        for _ in range(rng.randint(1, 3))
    ]
    return (Term(tuple(words)),)


def random_tree(rng, depth, site=False):
    if depth and rng.random() < 0.75:
        kind = rng.random()
        if kind < 0.6:
            count = rng.randint(2, 3)
            node = And(count) if rng.random() < 0.5 else Or(count)
            return (node, *(random_tree(rng, depth - 1, site) for _ in range(count)))
        if kind < 0.75:
            return (Not(), random_tree(rng, depth - 1, site))
        if kind < 0.85 and not site:
            return (Context("SEARCH", "Location"), random_tree(rng, depth - 1, True))
        coverages = ["Contains", "FullMatch", "StartsWith", "EndsWith"]
        expansions = ["None", "Term", "Concept", "Relaxation", "Lossy"]
        context = rng.choice(
            [
                Context("COVERAGE", rng.choice(coverages)),
                Context("EXPANSION", rng.choice(expansions)),
            ]
        )
        return (context, random_tree(rng, depth - 1, site))
    choices = SITE_AREAS if site else [*AREA_PIECES, "dated", "aged", "counted"]
    area = rng.choice(choices)
    if area == "LocationStatus":
        leaf = (Term((Word(rng.choice(STATUSES)),)),)
    elif area == "dated":
        area = "StudyFirstPostDate"
        ends = sorted(f"20{rng.randint(10, 20)}-{rng.randint(1, 12):02d}-15" for _ in "ab")
        leaf = rng.choice([(Missing(),), (Range(*ends),), (Range("MIN", ends[0]),)])
    elif area == "aged":
        area = "MinimumAge"
        leaf = (Range(rng.choice(["6 Months", "1 Year"]), rng.choice(["1 Year", "18 Years"])),)
    elif area == "counted":
        area = "EnrollmentCount"
        leaf = (Range(str(rng.randint(0, 25)), rng.choice(["30", "MAX"])),)
    else:
        leaf = (Missing(),) if rng.random() < 0.15 else random_term(rng)
    return (Context("AREA", area), leaf)


def postfix(tree):
    node, *below = tree
    return [n for one in below for n in postfix(one)] + [node]


@pytest.fixture(scope="module")
def random_studies():
    rng = random.Random(7)
    return [random_study(rng, number) for number in range(1, 61)]


@pytest.fixture(scope="module")
def random_evaluator(random_studies, tmp_path_factory):
    return Evaluator(build_trials_index(random_studies, tmp_path_factory.mktemp("random") / "ix"))


def test_random_expressions(random_studies, random_evaluator):
    rng = random.Random(11)
    index = random_evaluator.index
    sizes = []
    for _ in range(800):
        tree = random_tree(rng, 3)
        expression = Expression(tuple(postfix(tree)))
        bits = random_evaluator.run(expression, "TitleSearch").bits
        expected = {
            study["protocolSection"]["identificationModule"]["nctId"]
            for study in random_studies
            if evaluate(tree, study, None, ("TitleSearch", "Contains", "Relaxation"))
        }
        found = {index.ids[ordinal] for ordinal in bits}
        assert found == expected, f"{to_text(expression)}: {found ^ expected}"
        sizes.append(len(expected))
    assert sum(0 < size < 60 for size in sizes) > 300  # neither nothing nor everything
