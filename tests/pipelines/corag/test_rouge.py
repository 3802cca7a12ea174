"""ROUGE by hand and against an independent implementation on real pairs."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pipelines.corag.rouge import Rouge, rouge, stems

PASSAGES = Path(__file__).parents[4] / "shared" / "data" / "passages"
needs_passages = pytest.mark.skipif(
    not PASSAGES.is_dir(), reason=f"NOT CHECKED: the passage collections are not at {PASSAGES}"
)


def test_by_hand():
    # reference: the cat sat on the mat (6 words, 5 pairs); answer: the cat lay on a mat (6, 5).
    # shared words: the, cat, on, mat = 4; pairs: "the cat" = 1; LCS: the cat on mat = 4.
    found = rouge(["the cat sat on the mat"], "The cat lay on a mat.")
    assert (found.r1, found.r2, found.rl) == pytest.approx((4 / 6, 1 / 5, 4 / 6))


def test_order_counts_for_rouge_l_only():
    # LCS of "a b c d" and "d c b a" is one word of four.
    found = rouge(["a b c d"], "d c b a")
    assert (found.r1, found.r2, found.rl) == pytest.approx((1.0, 0.0, 0.25))


def test_unequal_lengths():
    # precision 2/2, recall 2/6: F1 = 2 * 1 * (1/3) / (4/3) = 1/2.
    assert rouge(["x y z u v w"], "x y").r1 == pytest.approx(0.5)


def test_words_are_stemmed():
    assert rouge(["treated patients"], "treating patient").r1 == 1.0
    assert rouge(["treated patients"], "treating patient", stemmer=False).r1 == 0.0
    assert stems("Treated PATIENTS, [1]!") == ("treat", "patient", "1")


def test_each_measure_takes_its_own_best_reference():
    # First reference: words 3/4 but LCS 1/4; second: words and LCS 2/4.
    found = rouge(["c b a x", "a b y z"], "a b c q")
    assert (found.r1, found.r2, found.rl) == pytest.approx((0.75, 1 / 3, 0.5))


def test_an_empty_answer_scores_zero_and_no_reference_is_an_error():
    assert rouge(["something"], "") == Rouge(0, 0, 0)
    with pytest.raises(ValueError, match="no reference"):
        rouge([], "something")


def test_nothing_of_nltk_is_downloaded(tmp_path):
    script = (
        "import nltk\n"
        "def refuse(*a, **k): raise SystemExit('a download was tried')\n"
        "nltk.download = nltk.downloader.Downloader.download = refuse\n"
        "from pipelines.corag.rouge import rouge\n"
        "assert rouge(['treated patients'], 'treating patients').rl == 1\n"
    )
    environment = {**os.environ, "NLTK_DATA": str(tmp_path), "HOME": str(tmp_path)}
    root = Path(__file__).parents[3]
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def _f1(shared, of_reference, of_answer):
    return 2 * shared / (of_reference + of_answer) if shared else 0.0


def _longest_common(a, b):
    row = [0] * (len(b) + 1)
    for left in a:
        above = row
        row = [0]
        for j, right in enumerate(b):
            row.append(above[j] + 1 if left == right else max(above[j + 1], row[j]))
    return row[-1]


def _independent(references, answer):
    """ROUGE-1, 2, L without stemming, from the definitions: F1 = 2 shared / (lengths together)."""
    best = [0.0, 0.0, 0.0]
    b = re.findall(r"[a-z0-9]+", answer.lower())
    for reference in references:
        a = re.findall(r"[a-z0-9]+", reference.lower())
        pairs_a, pairs_b = Counter(itertools.pairwise(a)), Counter(itertools.pairwise(b))
        values = (
            _f1((Counter(a) & Counter(b)).total(), len(a), len(b)),
            _f1((pairs_a & pairs_b).total(), pairs_a.total(), pairs_b.total()),
            _f1(_longest_common(a, b), len(a), len(b)),
        )
        best = [max(old, new) for old, new in zip(best, values, strict=True)]
    return best


@needs_passages
def test_against_an_independent_implementation_on_msmarco():
    with (PASSAGES / "msmarco_v11_rouge_pairs.jsonl").open() as file:
        answered = (row for line in file if (row := json.loads(line))["references"])
        rows = list(itertools.islice(answered, 200))
    assert max(len(row["references"]) for row in rows) > 1
    above = 0
    for row in rows:
        found = rouge(row["references"], row["candidate"], stemmer=False)
        expected = _independent(row["references"], row["candidate"])
        assert [found.r1, found.r2, found.rl] == pytest.approx(expected, abs=1e-12), row
        above += found.rl > 0
    assert above > 100
