"""Classic retrieval evaluation: an engine over a judged collection, measured as trec_eval does."""
