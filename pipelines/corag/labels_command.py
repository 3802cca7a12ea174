"""What `seekray corag label` and `train-agent` run. Sweeps live above the pipelines and may not be
imported from here, so the sweep is looked up by name when it is asked for."""

import importlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from configs.corag import CoragConfig
from configs.load import ConfigError
from pipelines.corag.space import SearchSpace
from pipelines.files import write_whole
from pipelines.progress import Reporter

if TYPE_CHECKING:
    from pipelines.corag.agent_comparison import Comparison

SWEEP = "tune_sweeps.corag_labels"


def make_labels(config: CoragConfig, out: Path | None, reporter: Reporter) -> Any:
    """Labels the set's training and development questions, or goes on with it, in `out` (default:
    `labels` in the run folder). Gives the sweep's `SweepResult`."""
    from cluster.session import session
    from pipelines.corag.desk import DeskMaker, sweep_identity
    from pipelines.corag.indexing import index_of
    from pipelines.data.qa_sets import load_qa_set
    from pipelines.seeds import drawn

    if not config.data.questions:
        raise ConfigError(["data.questions: a value is needed: the set to label"])
    space = search_space(config, config.labels.rerankers)
    folder = (out or Path(config.run_dir) / "labels").expanduser().absolute()
    qa = load_qa_set(config.data.questions)
    questions = drawn(qa.of_split("train", "dev"), config.labels.max_questions, config.run.seed)
    sweep = importlib.import_module(SWEEP)
    given = config.labels
    settings = sweep.LabelSweepSettings(
        settings_per_reranker=given.settings_per_reranker,
        first_rung=given.first_rung,
        reduction=given.reduction,
        keep=given.keep,
        seed=config.run.seed,
        desks=given.desks,
        desk_cpus=given.desk_cpus,
        desk_gpus=given.desk_gpus,
        wandb=config.tracking.wandb,
        project=config.tracking.project,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    index = index_of(config, folder.parent, reporter).absolute()
    maker = DeskMaker(config, index, folder.with_name(f"{folder.name}-cache"))
    with session(config.cluster.address, namespace="corag-labels"):
        return sweep.run_label_sweep(
            settings,
            questions,
            space,
            maker,
            folder,
            identity=sweep_identity(config, index),
            reporter=reporter,
        )


def train_from(config: CoragConfig, labels: Path, out: Path, reporter: Reporter) -> dict[str, Any]:
    """Trains an agent on the labels of a file into `out`, and gives what was measured."""
    from pipelines.corag.agent_training import AgentSettings, train_agent
    from pipelines.corag.indexing import embedder_options
    from pipelines.corag.labels import LabelError, read_labels
    from pipelines.data.chunk_vectors import load_embedder

    found = read_labels(labels)
    if not found:
        raise LabelError(f"labels {labels}: there are none")
    rerankers = tuple(dict.fromkeys(label.configuration.reranker for label in found))
    a = config.agent
    settings = AgentSettings(
        epochs=a.epochs,
        batch_size=a.batch_size,
        lr=a.lr,
        margin=a.margin,
        seed=config.run.seed,
        least_gap=a.least_gap,
        wandb=config.tracking.wandb,
        project=config.tracking.project,
    )
    encoder = load_embedder(embedder_options(config), report=reporter.say)
    space = search_space(config, rerankers)
    return train_agent(found, encoder, space, out, settings, reporter).metrics


def compare_live(
    config: CoragConfig, agent: Path, labels: Path, out: Path, reporter: Reporter
) -> "Comparison":
    """Searches and answers the set's test questions under the agent's choices, the best fixed
    configuration of the labels and the paper's; `out/comparison.json` keeps the result."""
    from pipelines.corag.agent import ConfigurationAgent, EncoderFacts
    from pipelines.corag.agent_comparison import compare, live, methods
    from pipelines.corag.desk import DeskMaker
    from pipelines.corag.indexing import embedder_options, index_of
    from pipelines.corag.labels import LabelError, read_labels
    from pipelines.data.chunk_vectors import load_embedder
    from pipelines.data.qa_sets import load_qa_set
    from pipelines.seeds import drawn

    if not config.data.questions:
        raise ConfigError(["data.questions: a value is needed: the set with the test questions"])
    found = read_labels(labels)
    qa = load_qa_set(config.data.questions)
    questions = drawn(qa.of_split("test"), config.data.max_questions, config.run.seed)
    labelled = tuple(dict.fromkeys(label.query for label in found))
    if both := {question.id for question in questions} & set(labelled):
        raise LabelError(f"labels {labels}: test question {min(both)} is among them")
    out.mkdir(parents=True, exist_ok=True)
    index = index_of(config, out, reporter).absolute()
    encoder = load_embedder(embedder_options(config), report=reporter.say)
    trained = ConfigurationAgent.load(agent, EncoderFacts.of(encoder))
    config = replace(config, labels=replace(config.labels, rerankers=trained.space.rerankers))
    ids = [question.id for question in questions]
    vectors, _ = encoder.embed_queries([question.text for question in questions])
    choices = methods(trained, vectors, found, labelled, ids)
    desk = DeskMaker(config, index, out / "cache")()
    try:
        comparison = compare(choices, live(desk, questions))
    finally:
        desk.close()
    write_whole(out / "comparison.json", json.dumps(asdict(comparison), indent=1))
    return comparison


def search_space(config: CoragConfig, rerankers: tuple[str, ...]) -> SearchSpace:
    """The configured ranges with these rerankers."""
    given, tree = config.labels, config.tree
    return SearchSpace(
        rerankers, given.iterations, given.c, given.cost_weight, wave=tree.wave, pick=tree.pick
    )
