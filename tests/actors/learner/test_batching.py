import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.learner.batching import pack

A = (10, 11, 12)


def test_layout_by_hand():
    (batch,) = pack([A, A], [(20, 21, 22, 2), (30, 2)], ["a", "a"], budget=64, share_prefix=True)
    # The last token of each completion predicts nothing and is not an input.
    assert batch.input_ids.tolist() == [[10, 11, 12, 20, 21, 22, 30]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 3, 4, 5, 3]]
    assert batch.source.tolist() == [2, 3, 4, 5, 2, 6]
    assert batch.targets.tolist() == [20, 21, 22, 2, 30, 2]
    assert batch.flat.tolist() == [0, 1, 2, 3, 4, 5]
    attends = batch.attention_mask()[0, 0]
    assert attends[5].tolist() == [True, True, True, True, True, True, False]
    assert attends[6].tolist() == [True, True, True, False, False, False, True]  # not its sibling


def test_padding_is_seen_by_no_token_and_sees_something():
    prompts = [A, A, (10,), (10,)]
    completions = [(20, 2), (21, 2), (22, 2), (23, 2)]
    (batch,) = pack(prompts, completions, ["a", "a", "b", "b"], budget=64, share_prefix=True)
    assert batch.segments.tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, -1, -1]]
    attends = batch.attention_mask()[1, 0]
    assert not attends[:3, 3:].any()
    assert attends.any(1).all()  # a row of the mask without any True would give NaN


def test_without_sharing_attention_is_plainly_causal():
    (batch,) = pack([A, A], [(20, 21, 2), (30,)], ["a", "a"], budget=64, share_prefix=False)
    assert batch.attention_mask() is None
    assert batch.input_ids.tolist() == [[10, 11, 12, 20, 21], [10, 11, 12, 0, 0]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert batch.source.tolist() == [2, 3, 4, 7]


def test_a_prompt_is_shared_within_its_group_only():
    batches = pack([A, A], [(20, 2), (30, 2)], ["a", "b"], budget=64, share_prefix=True)
    assert [len(b.input_ids) for b in batches] == [2]


def test_an_empty_prompt_is_refused_and_an_empty_completion_takes_no_room():
    with pytest.raises(ValueError, match="prompt"):
        pack([()], [(1,)], ["a"], 64, True)
    assert pack([A], [()], ["a"], 64, True) == []


@settings(deadline=None, max_examples=50)
@given(
    sizes=st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(0, 7)), min_size=1, max_size=20
    ),
    budget=st.integers(1, 60),
    share=st.booleans(),
)
def test_every_token_is_predicted_once_from_what_precedes_it(sizes, budget, share):
    # Group g's prompt: g, g, ...; completion i: 100 * i + position.
    prompts = [(group,) * (group + length) or (group,) for group, length, _ in sizes]
    completions = [tuple(1000 + 100 * i + t for t in range(n)) for i, (_, _, n) in enumerate(sizes)]
    groups = [str(group) for group, _, _ in sizes]
    batches = pack(prompts, completions, groups, budget, share)
    tokens = [token for c in completions for token in c]
    seen = []
    for batch in batches:
        rows, width = batch.input_ids.shape
        assert rows * width <= budget or (rows == 1 and int(batch.flat.numel()) > 0)
        mask = batch.attention_mask()
        if mask is None:
            mask = torch.ones(rows, 1, width, width, dtype=torch.bool).tril()
        for source, target, flat in zip(
            batch.source.tolist(), batch.targets.tolist(), batch.flat.tolist(), strict=True
        ):
            assert tokens[flat] == target
            row, column = divmod(source, width)
            visible = mask[row, 0, column]
            i, t = divmod(target - 1000, 100)
            context = [*prompts[i], *completions[i][:t]]
            assert batch.input_ids[row][visible].tolist() == context
            assert batch.position_ids[row][visible].tolist() == list(range(len(context)))
            seen.append(flat)
    assert sorted(seen) == list(range(len(tokens)))
