"""Corpora and tasks: readers, sample data, task builders. Pure; may import `actors.search`."""
