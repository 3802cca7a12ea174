"""A slow sweep in a process of its own, to be killed: sweep.py FOLDER JOURNAL."""

import logging
import sys
from pathlib import Path

from cluster.session import session
from pipelines.corag.space import SearchSpace
from tests.tune_sweeps.labellers import ArithmeticLabeller, arithmetic_questions
from tune_sweeps.corag_labels import LabelSweepSettings, run_label_sweep

logging.basicConfig(level=logging.WARNING)
logging.getLogger("tune_sweeps").setLevel(logging.INFO)
settings = LabelSweepSettings(
    settings_per_reranker=4, block=2, first_rung=4, keep=1, desk_cpus=0, start_timeout_s=60
)
with session("local", num_cpus=2):
    run_label_sweep(
        settings,
        arithmetic_questions(12),
        SearchSpace(("bm25", "minilm")),
        ArithmeticLabeller(Path(sys.argv[2]), delay_s=0.1),
        sys.argv[1],
    )
