"""An independent `Lookup` over plain Python records: every answer is a scan over word lists."""

import math
from datetime import date
from itertools import pairwise, product

import numpy as np
from pyroaring import BitMap

from actors.search.lookup import Statistics
from actors.search.text import words

TEXTS = (
    "title abstract keywords mesh publication_types chemicals authors journal languages "
    "affiliations"
).split()
DAYS = "published electronic entered created mesh_dated completed revised".split()


def columns(record):
    """Column to the values of a record, each a list of words."""
    qualified = [(h, q, flag) for h in record.mesh for q, flag in h.qualifiers]
    facts = ["has abstract"] if record.abstract else []
    issn = [record.issn, record.journal_id]
    values = {
        "id": [record.id],
        "title": [record.title],
        "abstract": [record.abstract],
        "keywords": record.keywords,
        "mesh": [t for h in record.mesh for t in (h.descriptor, *(q for q, _ in h.qualifiers))],
        "publication_types": record.publication_types,
        "chemicals": record.chemicals,
        "authors": record.authors,
        "journal": [record.journal, record.journal_abbreviation],
        "languages": record.languages,
        "affiliations": record.affiliations,
        "authors_exact": record.authors,
        "first_author_exact": record.authors[:1],
        "last_author_exact": record.authors[-1:],
        "full_authors_exact": record.full_authors,
        "journal_exact": [record.journal, record.journal_abbreviation],
        "publication_types_exact": record.publication_types,
        "mesh_exact": [h.descriptor for h in record.mesh]
        + [f"{h.descriptor} {q}" for h, q, _ in qualified],
        "major_exact": [h.descriptor for h in record.mesh if h.is_major]
        + [f"{h.descriptor} {q}" for h, q, flag in qualified if flag],
        "qualifier_exact": [q for _, q, _ in qualified],
        "major_qualifier_exact": [q for _, q, flag in qualified if flag],
        "chemicals_exact": record.chemicals,
        "languages_exact": record.languages,
        "keywords_exact": record.keywords,
        "status_exact": [record.status],
        "ids_exact": [record.doi, *(i for _, i in record.other_ids)],
        "volume_exact": [record.volume],
        "issue_exact": [record.issue],
        "pages_exact": [record.pages],
        "issn_exact": issn,
        "country_exact": [record.country],
        "facts_exact": facts,
    }
    out = {}
    for name, texts in values.items():
        split = [words(text) for text in texts]
        if name == "ids_exact":
            split = [[" ".join(text.lower().split())] for text in texts]
        elif name.endswith("_exact"):
            split = [[" ".join(value)] for value in split]
        elif name == "id":
            split = [[record.id]]
        out[name] = [value for value in split if value and value[0]]
    return out


def key(record):
    number = (1, int(record.id), "") if record.id.isdigit() else (0, 0, record.id)
    return (record.published or date.min, number)


class BruteLookup:
    """All of the seam, and what an engine asks of an index besides."""

    def __init__(self, records, fields=None):
        self.records = sorted(records, key=key, reverse=True)
        self.rows = [columns(record) for record in self.records]
        hidden = set(TEXTS) - set(fields) if fields is not None else set()
        owners = {"major": "mesh", "qualifier": "mesh", "major_qualifier": "mesh"}
        owners |= dict.fromkeys(("first_author", "last_author", "full_authors"), "authors")
        for row in self.rows:
            for name in list(row):
                base = name.removesuffix("_exact")
                if owners.get(base, base) in hidden:
                    del row[name]
        self.stores = frozenset([*(self.rows[0] if self.rows else ()), *DAYS])
        self.fields = tuple(f for f in TEXTS if f in self.stores)
        self.size = len(self.records)
        self.ids = np.array([record.id for record in self.records], dtype=object)

    def holds(self, value, atom):
        """How often a value, a list of words, holds an atom."""
        wanted = atom.words
        n = len(wanted)
        if atom.slop is not None:
            return int(any(self.spread(ps) <= n + atom.slop for ps in self.places(value, wanted)))
        return sum(
            all(self.same(w, value[i + j], atom.until, j == n - 1) for j, w in enumerate(wanted))
            for i in range(len(value) - n + 1)
        )

    @staticmethod
    def same(wanted, word, until="", last=True):
        if not (last and wanted.endswith("*")):
            return wanted == word
        if wanted.endswith(" *"):
            return word == wanted[:-2] or word.startswith(wanted[:-1])
        return word.startswith(wanted[:-1]) and (not until or word <= until)

    @staticmethod
    def places(value, wanted):
        found = [[i for i, word in enumerate(value) if word == w] for w in wanted]
        return [p for p in product(*found) if len(set(p)) == len(p)]

    @staticmethod
    def spread(places):
        return max(places) - min(places) + 1

    def find(self, atom):
        return BitMap(
            i
            for i, row in enumerate(self.rows)
            if any(self.holds(value, atom) for s in atom.stores for value in row[s])
        )

    def near(self, near):
        def held(value):
            hits = [
                [i for i, word in enumerate(value) if any(self.same(w, word) for w in group)]
                for group in near.groups
            ]
            for places in product(*hits):
                if len(set(places)) < len(places):
                    continue
                if near.slop is None:
                    if all(b - a == 1 for a, b in pairwise(places)):
                        return True
                elif self.spread(places) <= len(places) + near.slop:
                    return True
            return False

        return BitMap(
            i
            for i, row in enumerate(self.rows)
            if any(held(value) for s in near.stores for value in row[s])
        )

    def count(self, atom):
        return len(self.find(atom))

    def variations(self, stores, prefix, limit):
        found = {
            word
            for row in self.rows
            for s in stores
            for value in row[s]
            for word in value
            if word.startswith(prefix)
        }
        return sorted(found)[:limit]

    def dated(self, column, first, last):
        days = (getattr(record, column) for record in self.records)
        return BitMap(i for i, day in enumerate(days) if day is not None and first <= day <= last)

    def between(self, column, low, high):
        raise NotImplementedError(column)

    def statistics(self):
        lengths = {s: sum(len(v) for r in self.rows for v in r[s]) for s in self.fields}
        return Statistics(self.size, lengths)

    def frequencies(self, atom):
        return tuple(self.count(atom._replace(stores=(s,))) for s in atom.stores)

    def scores(self, atom, frequencies, statistics, k1=1.2, b=0.75):
        n = statistics.records
        ordinals, scores = [], []
        for store, df in zip(atom.stores, frequencies, strict=True):
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            mean = statistics.lengths[store] / n
            for i, row in enumerate(self.rows):
                tf = sum(self.holds(value, atom) for value in row[store])
                if tf:
                    length = sum(len(value) for value in row[store])
                    ordinals.append(i)
                    scores.append(idf * tf / (tf + k1 * (1 - b + b * length / mean)))
        return np.array(ordinals, dtype=np.uint32), np.array(scores, dtype=np.float32)

    def keys(self, ordinals):
        days = ((r.published.toordinal() if r.published else 0) for r in self.records)
        days = list(days)
        return [(days[i], key(self.records[i])[1]) for i in ordinals]

    def fetch(self, ids):
        by_id = {record.id: record for record in self.records}
        return [(by_id[i].title, by_id[i].abstract) for i in ids]
