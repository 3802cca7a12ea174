"""The reasoning loop as a gymnasium environment: an episode is a chain, a step is a step of
reasoning.

    env = ReasoningEnv(world, questions, shape)
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

The reward is 0 on the way and R at the end (`reward.RewardWeights`); the learner credits R to
every step, which makes it a contextual bandit. `reward` is an attribute: the curriculum sets it.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from pipelines.realm.policy.course import Course, rollout
from pipelines.realm.policy.policy import Observation, PolicyShape
from pipelines.realm.policy.reward import Clock, Costs, RewardWeights
from pipelines.realm.policy.rollout import Task, World
from pipelines.realm.types import HopQuestion

FEATURES, MASK = "observations", "action_mask"  # the names of RLlib's own action-masking example


def spaces_of(shape: PolicyShape) -> tuple[gym.spaces.Dict, gym.spaces.Discrete]:
    """Observation and action space."""
    count, actions = len(shape.features), len(shape.actions)
    observations = gym.spaces.Dict(
        {
            FEATURES: gym.spaces.Box(0.0, 1.0, (count,), np.float32),
            MASK: gym.spaces.Box(0.0, 1.0, (actions,), np.float32),
        }
    )
    return observations, gym.spaces.Discrete(actions)


class ReasoningEnv(gym.Env[dict[str, Any], Any]):
    """Chains on `questions`, drawn with the environment's seed; `reset(options={"question": q})`
    names one. An action that the mask forbids is a `ValueError`.

    The last `info` has `f1`, `em`, `calls`, `seconds`, `status` and `failed` (the infrastructure
    failed under the chain: the reward says nothing about the policy).
    """

    def __init__(
        self,
        world: World,
        questions: Sequence[HopQuestion],
        shape: PolicyShape | None = None,
        reward: RewardWeights | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not questions:
            raise ValueError("the reasoning environment needs at least one question")
        self.shape, self.reward = shape or PolicyShape(), reward or RewardWeights()
        self.observation_space, self.action_space = spaces_of(self.shape)
        self._world, self._questions, self._clock = world, tuple(questions), clock or Costs()
        self._runner = asyncio.Runner()
        self._course: Course | None = None
        self._seen: list[Observation] = []
        self._done: list[tuple[int, float]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts a chain and runs it to its first decision. Chains that end before one are passed
        over, at most as many as there are questions."""
        super().reset(seed=seed)
        wanted = (options or {}).get("question")
        for _ in self._questions:
            self._close_course()
            row = int(self.np_random.integers(len(self._questions)))
            question = wanted or self._questions[row]
            chain_seed = int(self.np_random.integers(2**31))
            self._task = Task(question)
            self._course = Course(self._world.reasoner(question, seed=chain_seed), self.shape)
            self._seen, self._done = [], []
            now = self._runner.run(self._course.see())
            if now is not None:
                self._seen.append(now)
                return _named(now), {"question_id": question.id}
            if wanted is not None:
                break
        raise RuntimeError("no chain came to a decision: look at the step limit and the segmenter")

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Does the action and runs to the next decision, or to the end."""
        if self._course is None:
            raise RuntimeError("the episode has ended: reset() first")
        index = int(action)
        if self._seen[-1][1][index] < 0.5:
            name = self.shape.actions.names[index]
            raise ValueError(f"action {index} ({name}) is not allowed here; see {MASK}")
        self._done.append((index, 0.0))
        now = self._runner.run(self._act(self._course, index))
        info: dict[str, Any] = {"question_id": self._task.question.id}
        if now is not None:
            self._seen.append(now)
            return _named(now), 0.0, False, False, info
        chain = self._runner.run(self._course.finish())
        self._course = None
        ended = rollout(chain, self._task, self.shape, self._clock, self._seen, self._done)
        reward = self.reward.reward(ended.f1, ended.calls, ended.seconds)
        info |= {"f1": ended.f1, "em": ended.exact, "calls": ended.calls}
        info |= {"seconds": ended.seconds, "status": ended.status, "failed": ended.failed}
        return _named(self._seen[-1]), reward, True, False, info

    def close(self) -> None:
        """Closes an open chain and the world. May be called twice."""
        if self._runner is not None and self._world is not None:
            self._close_course()
            self._runner.run(self._world.close())
            self._runner.close()
            self._world = None  # type: ignore[assignment]

    def _close_course(self) -> None:
        if self._course is not None:
            self._runner.run(self._course.close())
            self._course = None

    @staticmethod
    async def _act(course: Course, action: int) -> Observation | None:
        await course.act(action)
        return await course.see()


def _named(seen: Observation) -> dict[str, Any]:
    return {FEATURES: seen[0].copy(), MASK: seen[1].copy()}
