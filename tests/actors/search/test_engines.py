import pytest

from actors.search.engines import KINDS, open_engine, open_pubmed
from actors.search.index import IndexMismatchError, build_index
from actors.search.ranking.folder import build_passages_index
from actors.search.trials.build import build_trials_index
from actors.search.types import Record
from tests.actors.search.ranking.test_folder import Text

STUDY = {"nct_id": "NCT00000001", "title": "Aspirin in migraine", "conditions": ["Migraine"]}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    build_index([Record("1", "rat")], folder / "pubmed")
    build_trials_index([STUDY], folder / "trials")
    build_passages_index([Text("d", "", "lung")], folder / "passages", corpus="c")
    return folder


@pytest.mark.parametrize(
    ("there", "kind"),
    [
        ("pubmed", "trials"),
        ("pubmed", "bm25"),
        ("trials", "pubmed"),
        ("trials", "hybrid"),
        ("passages", "pubmed"),
        ("passages", "trials"),
    ],
)
def test_another_kind_of_index_is_named_with_the_command_that_searches_it(indexes, there, kind):
    path = indexes / there
    with pytest.raises(IndexMismatchError) as caught:
        open_engine(path, kind)
    wanted = kind if kind in ("pubmed", "trials") else "passages"
    assert str(caught.value) == (
        f"index {path} holds {there}, wanted is one of {wanted}: search it with "
        f"`seekray search {there} --index {path}`, or name another index"
    )


def test_each_kind_opens_and_a_folder_without_an_index_is_named(indexes, tmp_path):
    for kind, there in (("pubmed", "pubmed"), ("trials", "trials"), ("bm25", "passages")):
        assert open_engine(indexes / there, kind)
    assert open_pubmed(indexes / "pubmed")
    with pytest.raises(FileNotFoundError, match="no index at"):
        open_pubmed(tmp_path)
    with pytest.raises(ValueError, match="'colbert' is none of pubmed, trials, bm25"):
        open_engine(indexes / "pubmed", "colbert")
    assert len(KINDS) == 5
