"""PubMed's named subsets (`hasabstract[sb]`), as far as records can tell, in terms of other fields.

Source: PubMed Help, "Search field tags: Subset"; National Library of Medicine, "PubMed filters".
`systematic` is a shorter form of NLM's own strategy.
"""

_SYSTEMATIC = (
    '(systematic review[pt] OR "systematic review"[ti] OR "systematic literature review"[ti] OR '
    '"systematic scoping review"[ti] OR "systematic narrative review"[ti] OR '
    '"systematic qualitative review"[ti] OR "systematic evidence review"[ti] OR '
    '"systematic quantitative review"[ti] OR "systematic meta review"[ti] OR '
    '"systematic critical review"[ti] OR "systematic mixed studies review"[ti] OR '
    '"systematic mapping review"[ti] OR "systematic cochrane review"[ti] OR '
    '"systematic search and review"[ti] OR "systematic integrative review"[ti] OR '
    '"this systematic review"[tw] OR meta analysis[pt] OR cochrane database syst rev[ta])'
    " NOT (comment[pt] OR editorial[pt] OR letter[pt])"
)

FILTERS: dict[str, str | tuple[tuple[str, str], ...]] = {
    "hasabstract": (("facts_exact", "has abstract"),),
    "hasabstracttext": (("facts_exact", "has abstract"),),
    "medline": (("status_exact", "medline"),),
    "pubmednotmedline": (("status_exact", "pubmed not medline"),),
    "inprocess": (("status_exact", "in process"), ("status_exact", "in data review")),
    "publisher": (("status_exact", "publisher"),),
    "oldmedline": (("status_exact", "oldmedline"),),
    "systematic": _SYSTEMATIC,
    "systematicreview": "systematic review[pt]",
    "systematicreviews": _SYSTEMATIC,
    "review": "review[pt]",
    "clinicaltrial": "clinical trial[pt]",
    "randomizedcontrolledtrial": "randomized controlled trial[pt]",
    "metaanalysis": "meta analysis[pt]",
    "humans": "humans[mh]",
    "animals": "animals[mh:noexp]",
    "otheranimals": "animals[mh:noexp]",
    "male": "male[mh]",
    "female": "female[mh]",
    "adult": "adult[mh]",
    "aged": "aged[mh]",
    "child": "child[mh]",
    "adolescent": "adolescent[mh]",
    "infant": "infant[mh]",
    "cancer": "neoplasms[mh] OR neoplasm*[tiab] OR cancer*[tiab]",
    "english": "english[la]",
}
"""By name without spaces, lower case: a query, or whole values of columns that no tag reads."""
