"""Real data: PubMed files and the model from the registry, collections beside the checkout."""

from collections import Counter
from pathlib import Path

import pytest

from configs.schema import DataConfig
from pipelines.data.load import fit, load_records, load_tasks
from pipelines.data.mesh_tasks import mesh_pair_tasks, mesh_pico_tasks
from pipelines.data.pubmed_xml import Deletion, read_pubmed_xml
from pipelines.data.query_files import read_corpus, read_query_file
from pipelines.data.sample import fetch_pubmed_sample, fetch_smollm2
from pipelines.data.split import kind_of

SHARED = Path(__file__).parents[4] / "shared" / "data" / "pubmed"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"NOT CHECKED: the PubMed collections are not at {SHARED}"
)


@needs_shared
@pytest.mark.parametrize(
    ("name", "tasks", "dated"),
    [
        ("ico", 2627, 2627),
        ("leads_pico", 823, 823),
        ("sr", 10, 10),
        ("sr_derived", 45, 0),
        ("trialmind", 25, 25),
        ("sr_wallace", 2, 0),
    ],
)
def test_the_query_files_are_read(name, tasks, dated):
    found = read_query_file(SHARED / f"queries_{name}.jsonl")
    assert (len(found), sum(task.date_to is not None for task in found)) == (tasks, dated)


@pytest.mark.long
@needs_shared
def test_the_collections_are_read_and_fit_their_queries():
    records = read_corpus([SHARED / "corpus.jsonl.gz"])
    assert (len(records), sum(bool(r.mesh) for r in records)) == (26938, 15348)
    assert sum(r.published is not None for r in records) == 24097
    ids = {record.id for record in records}
    for name, expected in {"ico": 2627, "sr": 10, "sr_derived": 45, "leads_pico": 77}.items():
        kept, _, _ = fit(read_query_file(SHARED / f"queries_{name}.jsonl"), ids)
        assert len(kept) == expected
    wallace = {record.id for record in read_corpus([SHARED / "wallace_corpus.jsonl.gz"])}
    kept, empty, missing = fit(read_query_file(SHARED / "queries_sr_wallace.jsonl"), wallace)
    assert (len(wallace), len(kept), empty, missing) == (10367, 2, 0, 0)


@pytest.mark.long
def test_the_pubmed_sample_and_its_tasks():
    folder = fetch_pubmed_sample()
    updates = list(read_pubmed_xml(folder / "pubmed21n1298.xml.gz"))
    deleted = sum(isinstance(item, Deletion) for item in updates)
    assert (len(updates) - deleted, deleted) == (20788, 20)
    records = load_records(DataConfig(abstracts_only=False))
    assert len(records) == 30000
    assert sum(bool(record.abstract) for record in records) == 14832
    assert sum(bool(record.mesh) for record in records) == 29998
    assert (len(mesh_pico_tasks(records)), len(mesh_pair_tasks(records))) == (283, 1611)

    split = load_tasks(DataConfig(tasks="mesh-pico+mesh-pairs"), records)
    assert len(split.train) + len(split.test) + split.dropped == 1894
    assert split.dropped < 500
    held_out = Counter(map(kind_of, split.test))
    assert held_out["mesh-pico"] >= 60
    assert not {topic for task in split.train for topic in task.topics} & {
        topic for task in split.test for topic in task.topics
    }


@pytest.mark.long
def test_smollm2_speaks_its_chat_format():
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = str(fetch_smollm2())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|im_end|>")
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.num_parameters() == 134515008
    turn = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]
    prompt = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
    assert prompt.endswith("<|im_start|>assistant\n")
    inputs = tokenizer(prompt, return_tensors="pt")
    out = model.generate(**inputs, max_new_tokens=8, do_sample=False)
    assert "Paris" in tokenizer.decode(out[0, inputs["input_ids"].shape[1] :])
