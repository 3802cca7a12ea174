"""Names for the same thing, and compounds written in one word or two.

Three sources: what the records themselves equate (a term as found in the text and the
vocabulary's name for it), a `Mesh` if one is given, and the short list of lay names below. The
service uses UMLS, which is not free to copy: expect fewer synonyms here.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from actors.search.lookup import Vocabulary
from actors.search.mesh import Mesh
from actors.search.trials.documents import COMPOUNDS, EQUALS, EQUIVALENTS
from actors.search.trials.lexical import normal

Words = tuple[str, ...]

MOST = 40  # synonyms of one term
_LONGEST = 8  # words of a name
_VARIANTS = 8  # of a term by compounds
_ALL = 2**31

LAY_NAMES = """\
heart attack = myocardial infarction
heart failure = cardiac failure = congestive heart failure
stroke = cerebrovascular accident = brain infarction
high blood pressure = hypertension
low blood pressure = hypotension
cancer = neoplasm = malignancy = malignant neoplasm
breast cancer = breast neoplasm = breast carcinoma
lung cancer = lung neoplasm = lung carcinoma
prostate cancer = prostatic neoplasm = prostatic cancer
colon cancer = colonic neoplasm
kidney cancer = renal cell carcinoma = kidney neoplasm
liver cancer = hepatocellular carcinoma = liver neoplasm
skin cancer = skin neoplasm
non small cell lung cancer = nsclc = carcinoma, non small cell lung
small cell lung cancer = sclc
type 2 diabetes = diabetes mellitus, type 2 = type 2 diabetes mellitus = t2dm = niddm
type 1 diabetes = diabetes mellitus, type 1 = type 1 diabetes mellitus = t1dm
kidney failure = renal failure
kidney disease = renal disease
chronic kidney disease = chronic renal insufficiency = ckd
copd = chronic obstructive pulmonary disease
gerd = gastroesophageal reflux disease
hiv = human immunodeficiency virus
aids = acquired immunodeficiency syndrome
covid 19 = covid19 = sars cov 2 infection = coronavirus disease 2019
flu = influenza
tb = tuberculosis
als = amyotrophic lateral sclerosis
ms = multiple sclerosis
adhd = attention deficit hyperactivity disorder
ptsd = post traumatic stress disorder
ibs = irritable bowel syndrome
ibd = inflammatory bowel disease
sle = systemic lupus erythematosus
ra = rheumatoid arthritis
afib = atrial fibrillation
dvt = deep vein thrombosis = deep venous thrombosis
amd = age related macular degeneration = macular degeneration, age related
alzheimer's disease = alzheimer disease
parkinson's disease = parkinson disease
crohn's disease = crohn disease
hodgkin's lymphoma = hodgkin lymphoma = hodgkin disease
aspirin = acetylsalicylic acid
acetaminophen = paracetamol
adrenaline = epinephrine
vitamin c = ascorbic acid
vitamin d = cholecalciferol
chemo = chemotherapy
radiotherapy = radiation therapy
teen = teenager = adolescent
newborn = neonate
elderly = aged
"""


class Synonyms:
    """Names by any other name; built once from what an index (and `mesh`) knows."""

    def __init__(self, vocabulary: Vocabulary, mesh: Mesh | None = None) -> None:
        groups: dict[Words, set[Words]] = defaultdict(set)
        for line in LAY_NAMES.splitlines():
            _join(groups, [tuple(normal(name)) for name in line.split(" = ")])
        for pair in vocabulary.variations((EQUIVALENTS,), "", _ALL):
            _join(groups, [tuple(name.split()) for name in pair.split(EQUALS)])
        for descriptor in mesh.descriptors if mesh else ():
            names = [tuple(normal(n)) for n in (descriptor.name, *descriptor.entries)]
            _join(groups, [name for name in names if name])
        self._groups = {
            name: tuple(sorted(others, key=lambda words: (len(words), words)))[:MOST]
            for name, others in groups.items()
        }
        self._joined: dict[tuple[str, str], str] = {}
        self._split: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for compound in vocabulary.variations((COMPOUNDS,), "", _ALL):
            one, first, second = compound.split()
            self._joined[first, second] = one
            self._split[one].add((first, second))
        self.names = tuple(sorted(self._groups))

    def of(self, words: Words) -> tuple[Words, ...]:
        """Other names of what `words` name."""
        return self._groups.get(words, ())

    def longest(self, words: Words, start: int) -> int:
        """How many words from `start` form the longest name with synonyms; 1 if there is none."""
        for size in range(min(_LONGEST, len(words) - start), 1, -1):
            if words[start : start + size] in self._groups:
                return size
        return 1

    def spellings(self, words: Words) -> list[Words]:
        """`words`, and the same with compounds joined or split, `words` first."""
        found = {words: None}
        for i, word in enumerate(words):
            for pair in sorted(self._split.get(word, ())):
                found[words[:i] + pair + words[i + 1 :]] = None
            joined = self._joined.get((word, words[i + 1])) if i + 1 < len(words) else None
            if joined:
                found[(*words[:i], joined, *words[i + 2 :])] = None
        return list(found)[:_VARIANTS]


def _join(groups: dict[Words, set[Words]], names: Sequence[Words] | Iterable[Words]) -> None:
    distinct = [name for name in dict.fromkeys(names) if name]
    for name in distinct:
        groups[name].update(other for other in distinct if other != name)
