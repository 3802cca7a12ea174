"""Ovid MEDLINE syntax, to the same tree as PubMed queries. Imports `actors.search.pubmed` only."""

from actors.search.ovid.annotated import annotated_tree
from actors.search.ovid.detect import looks_like_ovid
from actors.search.ovid.parser import parse as parse_ovid
from actors.search.ovid.render import PubMedText, to_pubmed

__all__ = ["PubMedText", "annotated_tree", "looks_like_ovid", "parse_ovid", "to_pubmed"]
