"""Parts: restart, updates, deletions, shards."""

import json
from datetime import date

import numpy as np
import pytest

from actors.search.index import (
    Document,
    Manifest,
    Part,
    PartError,
    Schema,
    batches,
    build_documents,
    merge,
    open_index,
    part_info,
    plan,
    publish,
    write_part,
    write_shard,
)
from actors.search.index import invert as invert_module
from actors.search.lookup import Atom

SCHEMA = Schema("notes", "day", text=("body",), values=("tag",), days=("day",), numbers=("size",))


def note(id_, body="", tag=(), day=0, size=float("nan")):
    return Document(
        id_, {"body": (body,)}, {"tag": tag}, {"day": day}, {"size": size}, f"{id_} {body}".encode()
    )


def part(folder, documents, deletions=(), source="", size=3):
    write_part(folder, SCHEMA, batches(documents, SCHEMA, size), deletions, source)
    return folder


def bodies(index):
    return {index.ids[i]: index.stored(index.ids[i]).decode() for i in range(index.size)}


@pytest.mark.parametrize("ids", [("1", "2", "3", "4"), ("n1", "n2", "07", "7")])
def test_later_parts_replace_and_delete(tmp_path, ids):
    a, b, c, d = ids
    parts = [
        part(tmp_path / "0", [note(a, "old"), note(b, "old"), note(a, "newer"), note(c, "old")]),
        part(tmp_path / "1", [note(b, "new"), note(d, "new")], deletions=[c, d, "99"]),
        part(tmp_path / "2", [note(c, "again")]),
    ]
    merge(parts[:2], tmp_path / "two", SCHEMA)
    assert bodies(open_index(tmp_path / "two")) == {a: f"{a} newer", b: f"{b} new"}
    merge(parts, tmp_path / "three", SCHEMA)
    index = open_index(tmp_path / "three")
    assert bodies(index) == {a: f"{a} newer", b: f"{b} new", c: f"{c} again"}
    assert not index.find(Atom(("body",), ("old",)))
    assert index.variations(("body",), "", 9) == ["again", "new", "newer"]
    same = build_documents([note(c, "again"), note(b, "new"), note(a, "newer")], None, SCHEMA)
    assert index.manifest.content_hash == same.manifest.content_hash


def test_a_part_says_what_it_was_made_from_and_is_whole_or_not_at_all(tmp_path, monkeypatch):
    part(tmp_path / "0", [note("1", "kept")], source="file.gz sha256:1")
    assert part_info(tmp_path / "0")["source"] == "file.gz sha256:1"

    def broken():
        yield from batches([note("2", "lost")], SCHEMA)
        raise OSError("the file ends early")

    for folder in ("0", "1"):
        with pytest.raises(OSError, match="ends early"):
            write_part(tmp_path / folder, SCHEMA, broken())
    assert [p.name for p in tmp_path.iterdir()] == ["0"]
    assert Part(tmp_path / "0", SCHEMA).ids() == [b"1"]
    assert part_info(tmp_path / "1") is None


def test_a_half_written_part_is_refused_and_made_again(tmp_path):
    part(tmp_path / "0", [note("1", "kept")])
    (tmp_path / "0" / "part.json").unlink()
    with pytest.raises(PartError, match="not a whole part"):
        merge([tmp_path / "0"], tmp_path / "index", SCHEMA)
    part(tmp_path / "0", [note("1", "kept")])
    merge([tmp_path / "0"], tmp_path / "index", SCHEMA)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0", "index"]


def test_a_part_of_another_schema_is_refused(tmp_path):
    part(tmp_path / "0", [note("1")])
    with pytest.raises(PartError, match=r"'notes'.*wanted was 'other'"):
        merge([tmp_path / "0"], tmp_path / "index", Schema("other", "day", days=("day",)))


@pytest.mark.parametrize("id_", ["", "a\nb"])
def test_ids_that_cannot_be_kept_are_named(tmp_path, id_):
    with pytest.raises(ValueError, match="document id"):
        part(tmp_path / "0", [note(id_)])


def test_columns_outside_the_schema_are_named():
    with pytest.raises(ValueError, match=r"'1'.*\['boddy'\].*'notes'"):
        list(batches([Document("1", {"boddy": ("x",)})], SCHEMA))
    with pytest.raises(ValueError, match="'day' is not a day column"):
        Schema("notes", "day")
    with pytest.raises(ValueError, match="columns a twice"):
        Schema("notes", "day", text=("a",), values=("a",), days=("day",))


NOTES = [
    note(
        str(i * 37 % 1009),
        f"word{i % 7} word{i % 11} common rare{i}",
        (f"Tag {i % 5}", "all"),
        0 if i % 6 == 0 else date(2000, 1, 1 + i % 28).toordinal(),
        float(i),
    )
    for i in range(300)
]
ATOMS = [
    Atom(("body",), ("common",)),
    Atom(("body", "tag"), ("word3",)),
    Atom(("body",), ("word3", "word*")),
    Atom(("body",), ("common", "word3"), slop=1),
    Atom(("tag",), ("tag 2",)),
    Atom(("tag",), ("tag *",)),
]


def shards_of(tmp_path, count):
    parts = [part(tmp_path / f"p{i}", NOTES[i * 100 : i * 100 + 100]) for i in range(3)]
    merge(parts, tmp_path / "index", SCHEMA, shards=count)
    return [open_index(tmp_path / "index", shard=i) for i in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_together_are_the_one_index(tmp_path, count):
    whole = build_documents(NOTES, None, SCHEMA)
    shards = shards_of(tmp_path, count)
    sizes = [shard.size for shard in shards]
    assert sum(sizes) == 300
    assert max(sizes) - min(sizes) <= 1
    assert shards[0].manifest.content_hash == whole.manifest.content_hash
    for atom in ATOMS:
        expected = whole.first(whole.find(atom), 1000)
        assert expected
        found = [(shard, shard.find(atom)) for shard in shards]
        keys = [key for shard, bits in found for key in shard.keys(bits)]
        ids = [id_ for shard, bits in found for id_ in shard.first(bits, 1000)]
        hits = zip(keys, ids, strict=True)
        assert [id_ for _, id_ in sorted(hits, reverse=True)] == expected
        sums = np.sum([shard.frequencies(atom) for shard in shards], axis=0)
        assert tuple(sums) == whole.frequencies(atom)
    total = sum(shard.statistics().lengths["body"] for shard in shards)
    assert total == whole.statistics().lengths["body"] == 1200
    assert {i: b for s in shards for i, b in bodies(s).items()} == bodies(whole)


def test_one_index_of_many_shards_is_not_opened_as_a_whole(tmp_path):
    shards_of(tmp_path, 2)
    with pytest.raises(ValueError, match=r"shards 0 to 1.*the whole"):
        open_index(tmp_path / "index")
    with pytest.raises(ValueError, match="shard 2"):
        open_index(tmp_path / "index", shard=2)
    with pytest.raises(ValueError, match="too few for 301 shards"):
        plan([tmp_path / f"p{i}" for i in range(3)], SCHEMA, shards=301)


def test_shards_can_be_written_apart_and_again(tmp_path):
    parts = [part(tmp_path / "0", NOTES[:50]), part(tmp_path / "1", NOTES[40:])]
    planned = plan(parts, SCHEMA, "notes", shards=2)
    (tmp_path / "building").mkdir()
    write_shard(planned, 1, tmp_path / "building")
    written = [write_shard(planned, number, tmp_path / "building") for number in (0, 1)]
    publish(planned, written, tmp_path / "building", tmp_path / "index")
    manifest = Manifest.load(tmp_path / "index")
    assert (manifest.records, manifest.corpus) == (300, "notes")
    assert sorted(p.name for p in (tmp_path / "index").iterdir()) == [
        "manifest.json",
        "shard-00000",
        "shard-00001",
    ]
    assert (
        json.loads((tmp_path / "index" / "manifest.json").read_text())["schema"]["name"] == "notes"
    )


@pytest.mark.parametrize("tokens", [1, 7, 100])
def test_small_blocks_give_the_same_files(tmp_path, monkeypatch, tokens):
    folders = [part(tmp_path / "0", NOTES[:120]), part(tmp_path / "1", NOTES[120:])]
    first = merge(folders, tmp_path / "a", SCHEMA)
    monkeypatch.setattr(invert_module, "BLOCK_TOKENS", tokens)
    assert merge(folders, tmp_path / "b", SCHEMA).files == first.files


def test_numbers_and_the_order_of_ids():
    index = build_documents(NOTES, None, SCHEMA)
    found = index.first(index.between("size", 3, 5.5), 9)
    assert sorted(found) == sorted(NOTES[i].id for i in (3, 4, 5))
    assert index.between("size", -1e9, 1e9) == index.everything()
    keys = [(note.days["day"], int(note.id)) for note in NOTES]
    expected = [str(number) for _, number in sorted(keys, reverse=True)]
    assert index.ids[:].tolist() == expected
    nothing = build_documents([note("1")], None, SCHEMA)
    assert not nothing.between("size", -1e9, 1e9)
