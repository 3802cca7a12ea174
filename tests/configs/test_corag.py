import pytest

from configs.load import ConfigError, load_corag

NEEDED = ["data.questions=qa.jsonl"]


def problems(*overrides):
    with pytest.raises(ConfigError) as error:
        load_corag(None, [*NEEDED, *overrides])
    return list(error.value.problems)


def test_the_defaults_are_the_papers():
    config = load_corag(None, NEEDED)
    assert (config.tree.iterations, config.tree.c, config.tree.cost_weight) == (10, 2.4, 0.1)
    assert config.data.candidates == 60
    assert config.budget.evaluate == (1024, 2048, 8192)
    assert (config.agent.epochs, config.agent.batch_size, config.agent.lr) == (60, 32, 1e-3)
    assert (config.labels.iterations, config.labels.c) == ((5, 50), (0.0, 4.0))


def test_every_section_says_what_cannot_work():
    assert problems(
        "data.overlap=300",
        "model.max_new_tokens=0",
        "rollout.engine=vlm",
        "embedder.index=tree",
        "tree.iterations=0",
        "tree.c=.nan",
        "tree.pick=best",
        "budget.evaluate=[]",
        "budget.tokens=0",
        "labels.c=[3,1]",
        "scoring.concurrency=0",
        "run.methods=[corag,best]",
        "run.mmr_weight=2",
    ) == [
        "data.overlap: 300 is over half of data.chunk_tokens",
        "model.max_new_tokens: 0 is below 1",
        "rollout.engine: 'vlm' is not one of vllm, transformers",
        "embedder.index: 'tree' is not one of flat, ivfpq, hnsw",
        "tree.iterations: 0 is below 1",
        "tree.c: nan is below 0",
        "tree.pick: 'best' is not one of average, reward",
        "budget.tokens: 0 is below 1",
        "budget.evaluate: name at least one budget",
        "labels.c: the least, 3.0, is above the most, 1.0",
        "scoring.concurrency: 0 is below 1",
        "run.methods: 'best' is not one of corag, corag-agent, upper, naive, raptor, "
        "document-order, mmr, greedy",
        "run.mmr_weight: 2.0 is not between 0 and 1",
    ]


def test_ray_is_needed_only_for_workers():
    assert not load_corag(None, NEEDED).on_ray
    for override in ("scoring.workers=1", "rollout.workers=1", "embedder.workers=2"):
        assert load_corag(None, [*NEEDED, override]).on_ray
