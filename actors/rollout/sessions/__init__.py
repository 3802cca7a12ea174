"""Writing that can be paused, cut back, added to and asked: one session a chain of thought.

Imports: `actors.rollout`; no pipeline, no `cluster`, no Ray.
"""
