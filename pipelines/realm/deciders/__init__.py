"""When to retrieve, and with what query: the baselines, by name in `registry`. Pure.

The learned policy is `pipelines.realm.policy`. All are stateless: one serves any number of chains
at once. After the answer was given only those retrieve that have a step written again.
"""
