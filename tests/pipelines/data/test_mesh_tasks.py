from actors.search.types import MeshHeading, Record
from pipelines.data.mesh_tasks import CHECK_TAGS, mesh_pair_tasks, mesh_pico_tasks
from pipelines.data.task import Pico, Task

ASTHMA = MeshHeading("Asthma", "D1", True, (("drug therapy", False),))
ASTHMA_BLOOD = MeshHeading("Asthma", "D1", False, (("blood", False),))
DRUG = MeshHeading("Steroids", "D2", False, (("therapeutic use", True),))
DRUG_PLAIN = MeshHeading("Steroids", "D2", True)
HUMANS = MeshHeading("Humans", "D9", True)


def record(id, *mesh, abstract="text"):
    return Record(str(id), "title", abstract, mesh=mesh)


def test_pico_needs_both_qualifiers_in_three_records_with_abstracts():
    records = [
        *(record(n, ASTHMA, DRUG, HUMANS) for n in (1, 2, 3)),
        record(4, ASTHMA_BLOOD, DRUG),  # no clinical qualifier
        record(5, ASTHMA, DRUG_PLAIN),  # no therapeutic qualifier
        record(6, ASTHMA, DRUG, abstract=""),
    ]
    assert mesh_pico_tasks(records, corpus="c") == [
        Task(
            id="mesh-pico:D1-D2",
            need=Pico(population="Asthma", intervention="Steroids"),
            relevant=frozenset({"1", "2", "3"}),
            corpus="c",
            topics=frozenset({"Asthma", "Steroids"}),
        )
    ]
    assert mesh_pico_tasks(records[1:]) == []


def test_a_heading_is_not_its_own_intervention():
    both = MeshHeading("X", "D3", True, (("therapy", False), ("adverse effects", False)))
    assert mesh_pico_tasks([record(n, both) for n in range(5)]) == []


def test_pairs_take_one_major_heading_and_come_once():
    a, a_major = MeshHeading("A", "D1"), MeshHeading("A", "D1", True)
    b, b_major = MeshHeading("B", "D2"), MeshHeading("B", "D2", False, (("blood", True),))
    records = [
        *(record(n, a, b_major, HUMANS) for n in range(5)),
        *(record(n, a_major, b) for n in range(5, 8)),
        record(8, a, b),  # neither is major
        record(9, a_major, b_major, abstract=""),
    ]
    (task,) = mesh_pair_tasks(records)
    assert task.id == "mesh-pair:D2-D1"  # B is the major one in 5, A in 3
    assert task.need == Pico(population="B", intervention="A")
    assert task.relevant == frozenset(map(str, range(8)))
    assert mesh_pair_tasks(records[1:]) == []  # 7 are too few


def test_pairs_that_too_many_records_share_are_left_out():
    a, b = MeshHeading("A", "D1", True), MeshHeading("B", "D2", True)
    assert len(mesh_pair_tasks([record(n, a, b) for n in range(200)])) == 1
    assert mesh_pair_tasks([record(n, a, b) for n in range(201)]) == []


def test_a_tie_of_majors_gives_one_task_whatever_the_order_of_records():
    a, b = MeshHeading("A", "D1", True), MeshHeading("B", "D2", True)
    forward = mesh_pair_tasks([record(n, a, b) for n in range(8)])
    backward = mesh_pair_tasks([record(n, b, a) for n in reversed(range(8))])
    assert forward == backward
    assert [task.id for task in forward] == ["mesh-pair:D1-D2"]


def test_check_tags_cover_the_age_groups():
    assert {"Humans", "Male", "Aged, 80 and over", "Infant, Newborn", "Animals"} <= CHECK_TAGS


def test_a_heading_without_ui_is_keyed_by_its_name():
    a, b = MeshHeading("A b", major=True), MeshHeading("B", "D2")
    (task,) = mesh_pair_tasks([record(n, a, b) for n in range(8)])
    assert task.id == "mesh-pair:A_b-D2"
