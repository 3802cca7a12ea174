"""A chain as the policy walks it: see, act, see, ..., until it has ended."""

import numpy as np

from pipelines.realm.policy.policy import Observation, Policy, PolicyShape
from pipelines.realm.policy.reward import Clock, infrastructure_failed
from pipelines.realm.policy.rollout import Rollout, SteppedReasoner, Task
from pipelines.realm.types import GO_ON, Chain


class Course:
    """One chain under a policy's shape."""

    def __init__(self, reasoner: SteppedReasoner, shape: PolicyShape) -> None:
        self._reasoner, self._shape = reasoner, shape

    async def see(self) -> Observation | None:
        """What is seen at the next decision; None when the chain has ended. A step that ends the
        chain is not decided on: there is nothing left to retrieve for."""
        while (state := await self._reasoner.advance()) is not None:
            if not state.ended:
                return await self._shape.observe(state)
            await self._reasoner.apply(GO_ON)
        return None

    async def act(self, action: int) -> None:
        """Does the action on what was last seen."""
        await self._reasoner.apply(self._shape.actions.decision(action))

    async def finish(self) -> Chain:
        """The finished chain."""
        return await self._reasoner.finish()

    async def close(self) -> None:
        """Ends a chain that nobody wants any more."""
        await self._reasoner.close()


async def play(
    reasoner: SteppedReasoner,
    policy: Policy,
    task: Task,
    clock: Clock,
    draw: np.random.Generator | None,
) -> Rollout:
    """Runs one episode; actions are drawn, or greedy without `draw`."""
    course = Course(reasoner, policy.shape)
    seen: list[Observation] = []
    done: list[tuple[int, float]] = []
    try:
        while (now := await course.see()) is not None:
            seen.append(now)
            done.append(policy.act(now, draw))
            await course.act(done[-1][0])
        chain = await course.finish()
    except BaseException:
        await reasoner.close()
        raise
    return rollout(chain, task, policy.shape, clock, seen, done)


def rollout(
    chain: Chain,
    task: Task,
    shape: PolicyShape,
    clock: Clock,
    seen: list[Observation],
    done: list[tuple[int, float]],
) -> Rollout:
    """The episode that `chain` was: `seen` and `done` (action, log-probability) by decision."""
    from pipelines.realm.metrics import exact_match, f1

    golds = task.question.answers
    count = len(seen)
    return Rollout(
        question_id=task.question.id,
        sample=task.sample,
        observations=np.array([o for o, _ in seen], np.float32).reshape(count, len(shape.features)),
        masks=np.array([m for _, m in seen], np.float32).reshape(count, len(shape.actions)),
        actions=np.array([action for action, _ in done], np.int64),
        log_probs=np.array([log_prob for _, log_prob in done], np.float32),
        f1=float(f1(chain.answer, golds)),
        exact=float(exact_match(chain.answer, golds)),
        calls=chain.calls,
        seconds=float(clock(chain)),
        status=str(chain.status),
        failed=infrastructure_failed(chain),
    )
