"""The PubMed query language. Pure; may import `actors.search.lookup`, `mesh`, `text` and `types`.

`parser` makes a `tree` of what `operands` says, `translation` reads its terms (`reading`,
`mapping`, `leaves`) against a vocabulary and writes a `plan`, which any lookup evaluates.
`printing` writes trees as queries.
"""
