"""One question, reasoned on."""

from pathlib import Path

from configs.load import ConfigError
from configs.realm import RealmConfig
from pipelines.realm.deciders.registry import make_decider, method_of
from pipelines.realm.deciders.timing import ThresholdOnly
from pipelines.realm.policy.decider import PolicyDecider
from pipelines.realm.reason import reason
from pipelines.realm.setup import SIMULATED, open_world
from pipelines.realm.types import Chain, Decider, Formulation, HopQuestion

POLICY = "policy"


async def ask_one(config: RealmConfig, question: str, method: str = "") -> Chain:
    """The chain on `question`. Raises `ConfigError`, `DeciderError`, and what the parts raise."""
    problems = []
    if not question.strip():
        problems.append("QUESTION: it has no text")
    if not config.data.index:
        problems.append("data.index: a value is needed: a folder of `seekray realm index`")
    if config.reasoner.model == SIMULATED and not config.data.questions:
        problems.append(
            "data.questions: the simulated reasoner can only work on the questions of a set: name "
            "it, or another reasoner"
        )
    if problems:
        raise ConfigError(problems)
    decider, style = decider_of(config, method)
    world = open_world(config, Path(config.data.index).expanduser())
    try:
        asked = HopQuestion("question", question.strip(), ())
        return await reason(world.reasoner(asked, seed=config.run.seed, style=style), decider)
    finally:
        await world.close()


def decider_of(config: RealmConfig, method: str) -> tuple[Decider, str]:
    """The decider of `method` and the style of prompt it wants."""
    method = method or (POLICY if config.policy.path else "threshold")
    name, _, folder = method.partition(":")
    if name == POLICY:
        path = folder or config.policy.path
        if not path:
            raise ConfigError(["policy.path: a value is needed by the method policy"])
        decider = PolicyDecider.load(path)
        rewrites = Formulation.REWRITER in decider.shape.actions.formulations
        if rewrites and not config.evidence.rewriter:
            raise ConfigError(
                [f"evidence.rewriter: the policy in {path} asks a rewriter: name its folder"]
            )
        return decider, "reason"
    if method == "threshold":
        return ThresholdOnly(config.rsus.threshold), "reason"
    about = method_of(method)
    if about.needs_logprobs and config.reasoner.engine == "completions":
        raise ConfigError(
            [f"method {method}: it looks at probabilities, which a completion server does not give"]
        )
    return make_decider(method), about.style
