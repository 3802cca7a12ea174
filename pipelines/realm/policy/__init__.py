"""The intervention policy: after each step, go on, or retrieve with which query and how to take it
in. A contextual bandit over the reasoning loop, trained with REINFORCE on RLlib's Learner.

`actions`, `features`, `network`, `policy`, `reward`, `curriculum`, `baseline`, `rollout`, `course`,
`env`, `decider` and `checkpoint` are pure (no Ray); `module` and `learner` are RLlib's; `collector`
has the Ray actors; `training` is the loop, `command` makes it out of a configuration.
"""
