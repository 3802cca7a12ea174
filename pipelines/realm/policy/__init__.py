"""The intervention policy: after each step, go on, or retrieve with which query and how to take it
in. A contextual bandit over the reasoning loop, trained with REINFORCE on RLlib's Learner.

`actions`, `features`, `network`, `reward`, `curriculum`, `rollout`, `sampling`, `decider`, `saved`
and `env` are pure (no Ray); `module` and `learner` are RLlib's; `collector` has the Ray actors;
`world` puts a reasoner together; `training` is the loop.
"""
