"""Families of prompts that begin alike."""

from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.prefixes import Family, common, families, split


def test_children_of_one_prefix_are_a_family_and_strangers_another() -> None:
    prompts = [(1, 2, 3, 7, 7), (9, 9), (1, 2, 3, 8), (1, 2, 3, 6, 5), (4,)]
    assert families(prompts, least=2) == [Family(3, (3, 0, 2)), Family(0, (4, 1))]


def test_a_deep_family_is_not_cut_down_for_one_that_shares_half() -> None:
    deep = [(*range(8), 20 + i) for i in range(4)]
    other = [(*range(4), 50, 51, 52, 53, 60 + i) for i in range(4)]
    found = families([*deep, *other], least=2)
    assert [(each.shared, set(each.rows)) for each in found] == [
        (8, {0, 1, 2, 3}),
        (8, {4, 5, 6, 7}),
    ]


def test_equal_prompts_keep_a_token_of_their_own() -> None:
    assert families([(1, 2, 3), (1, 2, 3)], least=2) == [Family(2, (0, 1))]


def test_split_keeps_the_budget_and_gives_a_long_row_its_own_batch() -> None:
    lengths = [3, 9, 3, 2, 3]
    found = split(Family(1, (0, 1, 2, 3, 4)), lengths, 6)
    assert [each.rows for each in found] == [(1,), (0, 2), (4, 3)]
    assert {each.shared for each in found} == {1}


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), max_size=20))
def test_every_prompt_is_in_one_family_which_begins_alike(prompts: list[list[int]]) -> None:
    found = families(prompts, least=2)
    rows = [row for family in found for row in family.rows]
    assert sorted(rows) == list(range(len(prompts)))
    for family in found:
        for row in family.rows:
            first = prompts[family.rows[0]]
            assert common(first, prompts[row]) >= family.shared
            assert family.shared == 0 or 2 <= family.shared < len(prompts[row])
