"""Other search software, given the same documents and the same queries in its own language."""
