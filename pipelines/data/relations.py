"""Wikidata relations as questions: "director of X" is "Who is the director of X?"."""

_ASKED = {
    "applies to jurisdiction": "Which jurisdiction does {} apply to?",
    "author": "Who is the author of {}?",
    "award received": "Which award did {} receive?",
    "capital of": "What is {} the capital of?",
    "cause of death": "What did {} die of?",
    "cast member": "Who acted in {}?",
    "child": "Who is a child of {}?",
    "composer": "Who composed the music of {}?",
    "conflict": "Which conflict did {} take part in?",
    "country": "Which country is {} in?",
    "country of citizenship": "Which country is {} a citizen of?",
    "country of origin": "Which country does {} come from?",
    "creator": "Who created {}?",
    "date of birth": "When was {} born?",
    "date of death": "When did {} die?",
    "director": "Who directed {}?",
    "distributed by": "Who distributed {}?",
    "educated at": "Where was {} educated?",
    "employer": "Who employed {}?",
    "father": "Who is the father of {}?",
    "followed by": "What came after {}?",
    "follows": "What came before {}?",
    "founded by": "Who founded {}?",
    "has part": "Who or what is part of {}?",
    "inception": "When did {} begin?",
    "instance of": "What kind of thing is {}?",
    "languages spoken, written or signed": "Which language does {} speak or write?",
    "licensed to broadcast to": "Where is {} licensed to broadcast to?",
    "located in or next to body of water": "Which body of water is {} in or next to?",
    "located in the administrative territorial entity": "Which administrative area is {} in?",
    "location": "Where is {}?",
    "location of formation": "Where was {} formed?",
    "lyrics by": "Who wrote the lyrics of {}?",
    "manufacturer": "Who made {}?",
    "member of": "What is {} a member of?",
    "member of political party": "Which political party is {} a member of?",
    "member of sports team": "Which sports team is {} a member of?",
    "mother": "Who is the mother of {}?",
    "mouth of the watercourse": "What does {} flow into?",
    "named after": "What is {} named after?",
    "owned by": "Who owns {}?",
    "part of": "What is {} part of?",
    "part of the series": "Which series is {} part of?",
    "performer": "Who is the performer of {}?",
    "place of birth": "Where was {} born?",
    "place of burial": "Where is {} buried?",
    "place of death": "Where did {} die?",
    "position held": "Which position did {} hold?",
    "present in work": "Which work is {} in?",
    "presenter": "Who presented {}?",
    "producer": "Who produced {}?",
    "publication date": "When was {} released?",
    "publisher": "Who published {}?",
    "screenwriter": "Who wrote the script of {}?",
    "shares border with": "What shares a border with {}?",
    "sibling": "Who is a sibling of {}?",
    "spouse": "Who is the spouse of {}?",
    "work location": "Where did {} work?",
}


def question_of(subject: str, relation: str) -> str:
    """The question whose answer is the object of (subject, relation, object)."""
    asked = _ASKED.get(relation.strip().casefold())
    return asked.format(subject) if asked else f"What is the {relation.strip()} of {subject}?"


def asked(text: str) -> str:
    """`text`, where MuSiQue's "subject >> relation" becomes a question."""
    subject, arrow, relation = (part.strip() for part in text.partition(">>"))
    return question_of(subject, relation) if arrow and subject and relation else text.strip()
