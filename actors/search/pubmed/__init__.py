"""The PubMed query language: tokens, tree, translation to the index. Pure."""
