import gzip
import json
import zipfile
from pathlib import Path

import pytest

from actors.search.index import Manifest, verify
from actors.search.trials.build import open_trials_index
from pipelines.data.build_index import build_trials_index
from pipelines.data.failures import CorpusError
from pipelines.data.items import Item
from pipelines.data.trials_files import read_studies, trial_items

SHARED = Path(__file__).parents[4] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"NOT CHECKED: no trial collections at {SHARED}"
)


def study(number, title="T"):
    identity = {"nctId": f"NCT{number:08d}", "briefTitle": title}
    places = [{"facility": "Hospital", "city": "Oslo", "country": "Norway"}]
    return {
        "protocolSection": {
            "identificationModule": identity,
            "contactsLocationsModule": {"locations": places},
        }
    }


def ids(items):
    return [
        s["protocolSection"]["identificationModule"]["nctId"]
        for item in items
        for s in read_studies(item)
    ]


def expected(*numbers):
    return [f"NCT{number:08d}" for number in numbers]


@pytest.fixture
def dump(tmp_path):
    """Every shape at once: single files, a page, a list, lines, flat rows, a zip file."""
    folder = tmp_path / "dump"
    (folder / "deep").mkdir(parents=True)
    for number in (1, 2):
        (folder / "deep" / f"NCT{number:08d}.json").write_text(json.dumps(study(number)))
    page = {"totalCount": 2, "studies": [study(3), study(4)], "nextPageToken": "abc"}
    (folder / "page1.json").write_text(json.dumps(page))
    (folder / "page2.json.gz").write_bytes(gzip.compress(json.dumps([study(5)]).encode()))
    rows = [study(6), {"nct_id": "NCT00000007", "title": "Flat", "conditions": ["Asthma"]}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with zipfile.ZipFile(folder / "z.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for number in (8, 9, 10):
            file.writestr(f"NCT{number:08d}.json", json.dumps(study(number)))
        file.writestr("README.txt", "not a study")
    return folder


def test_every_shape_is_read(dump):
    assert sorted(ids(trial_items([dump]))) == expected(*range(1, 11))
    assert ids(trial_items([dump / "page1.json"])) == expected(3, 4)


def test_the_index_holds_studies_and_sites(dump, tmp_path):
    manifest = build_trials_index([dump], tmp_path / "out", workers=1)
    assert manifest.records == 10
    again = build_trials_index([dump], tmp_path / "again", workers=1, shards=2)
    assert again.content_hash == manifest.content_hash
    assert verify(tmp_path / "out") == verify(tmp_path / "again") == []
    index = open_trials_index(tmp_path / "out")
    assert index.studies.size == 10
    assert index.locations.size == 9  # the flat row has no site
    assert (Manifest.load(tmp_path / "again").shards[0].records) == 5


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"protocolSection":\n {', r"a\.json, line 2, column \d+: not JSON"),
        ("a.json", b"[1]", r"a\.json, studies\[0\]: expected a study"),
        ("a.json", b'{"studies": [{"protocolSection": {}}]}', r"studies\[0\]: study without a reg"),
        ("a.jsonl", b'{"nct_id": "X"}\n', r"a\.jsonl, line 1: row without a registry number"),
        ("a.jsonl", b"\n{\n", r"a\.jsonl, line 2: not JSON"),
        ("a.zip", b"PK", r"a\.zip: cannot be read"),
        ("a.json.gz", b"\x1f\x8b\x08", r"a\.json\.gz: cannot be read"),
    ],
)
def test_errors_name_file_and_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        ids(trial_items([tmp_path]))


def test_zip_errors_name_the_member(dump):
    with zipfile.ZipFile(dump / "z.zip", "a") as file:
        file.writestr("NCT00000099.json", "{")
    with pytest.raises(CorpusError, match=r"z\.zip/NCT00000099\.json, line 1"):
        ids(trial_items([dump / "z.zip"]))


def test_an_encrypted_member_is_named(dump):
    path = dump / "z.zip"
    data = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # of the member, its entry
        at = data.index(signature)
        data[at + flags] |= 1
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"z\.zip/NCT00000008\.json: cannot be read: .*encrypted"):
        ids(trial_items([path]))


def test_an_item_is_known_by_its_content(dump):
    first = [item.digest() for item in trial_items([dump])]
    (dump / "deep" / "NCT00000001.json").write_text(json.dumps(study(1, "other")))
    second = [item.digest() for item in trial_items([dump])]
    assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    whole = Item("z", (dump / "z.zip",), 0, 3)
    assert whole.digest() != Item("z", (dump / "z.zip",), 0, 2).digest()


@needs_shared
def test_recorded_studies_are_read():
    files = sorted((SHARED / "fixtures" / "ctgov" / "v2_studies").glob("*.json"))
    items = trial_items([SHARED / "fixtures" / "ctgov" / "v2_studies"])
    assert len(ids(items)) >= len(files)


@pytest.mark.long
@needs_shared
def test_the_real_collection():
    files = [SHARED / "trials" / "corpus.jsonl.gz", SHARED / "trials" / "extra_no_title.jsonl.gz"]
    assert len(ids(trial_items(files))) == 8097 + 4529
