"""How evidence is taken in: compressed, packed, fetched ahead. Pure: nothing here knows Ray.

May import `actors.search`, `actors.expansion`, `pipelines.data` and `pipelines.corag`'s search.
"""
