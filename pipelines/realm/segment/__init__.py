"""Cuts a chain of thought into steps while it is written: by rules, or by a small transformer.

A step is a maximal run of sentences of one episode (reading, planning, computing, checking, ...). A
boundary is the offset after the last character of a step that is no white space; the white space
after it opens the next step. The end of the text is no boundary.

Imports: `pipelines.realm.types`, `pipelines.data`, `cluster.tracking`.
"""
