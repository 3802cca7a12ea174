"""The simulated reasoner: no model, a stand-in that writes chains for questions it has the key to.

It follows a question's gold decomposition, knows a hop or not by a seeded draw, and answers right
only where every hop was known or read in what was retrieved. Results on it are *simulation* and are
reported as that. `pipelines.realm.simulated` is its engine.

Imports: `actors.rollout`, `pipelines.data`, `pipelines.realm.types`. Nothing of Ray or torch.
"""
