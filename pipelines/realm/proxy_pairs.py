"""Where the proxy's training pairs come from, by configuration."""

from dataclasses import replace
from pathlib import Path

from configs.realm import RealmConfig
from pipelines.progress import Reporter
from pipelines.realm.segment.opening import segmenter_factory
from pipelines.realm.setup import hop_set_of, index_of, open_world, questions_of
from pipelines.realm.uncertainty.command import (
    asking_meter,
    collect_from_chains,
    collect_from_traces,
)
from pipelines.realm.uncertainty.proxy_pairs import ProxyPair


async def collect(
    config: RealmConfig, traces: Path | None, out: Path, reporter: Reporter
) -> list[ProxyPair]:
    """Pairs of the reasoner's own chains on the set's train questions, or of its judgements along
    `traces`."""
    hop_set = None if traces is not None else hop_set_of(config)
    index = Path(config.data.index).expanduser() if config.data.index else None
    if hop_set is not None and index is None:
        index = index_of(config, hop_set, out, reporter)
    if index is None:
        from configs.load import ConfigError

        raise ConfigError(["data.index: a value is needed: a folder of `seekray realm index`"])
    world = open_world(config, index, hop_set=hop_set, reporter=reporter)
    try:
        concurrency = config.limits.concurrency
        meter = asking_meter(world.lexical, world.titles, config.run.seed)
        if traces is not None:
            return await collect_from_traces(
                traces,
                world.engine,
                segmenter_factory(config.segment.path),
                meter,
                titles=world.titles,
                concurrency=concurrency,
            )
        assert hop_set is not None
        world.parts = replace(world.parts, meter=meter)
        return await collect_from_chains(
            questions_of(config, hop_set, "train"),
            lambda question: world.reasoner(question, seed=config.run.seed),
            titles=world.titles,
            seed=config.run.seed,
            concurrency=concurrency,
            reporter=reporter,
        )
    finally:
        await world.close()
