"""RSUS, the uncertainty of a step of reasoning: what the model says of it (U_verb), how widely the
index spreads over its entities (U_ent), how far sampled continuations differ (U_cons). No logits.

Imports: `actors`, `cluster.tracking`, `pipelines.data`, `pipelines.realm.types`. torch is imported
by `proxy_network` alone.
"""
