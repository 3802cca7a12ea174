import gzip

import pytest

from actors.search.mesh import load_mesh, narrower_qualifiers, qualifier

DESCRIPTORS = """<?xml version="1.0"?>
<DescriptorRecordSet LanguageCode="eng">
  {records}
</DescriptorRecordSet>"""
RECORD = """<DescriptorRecord DescriptorClass="{kind}">
  <DescriptorUI>D{number:06}</DescriptorUI>
  <DescriptorName><String>{name}</String></DescriptorName>
  <TreeNumberList>{trees}</TreeNumberList>
  <ConceptList><Concept><TermList>{terms}</TermList></Concept></ConceptList>
</DescriptorRecord>"""
ROWS = [
    ("Neoplasms", 1, ["C04"], ["Cancer", "Tumors"]),
    ("Breast Neoplasms", 1, ["C04.588.180", "C17.800.090.500"], ["Breast Cancer"]),
    ("Skin Diseases", 1, ["C17.800"], []),
    ("Carcinoma, Lobular", 1, ["C04.557.470.200.025.275", "C04.588.180.390"], []),
    ("C04 Look-alike", 1, ["C045.1"], []),
    ("Clinical Trial", 2, ["V03.175.250"], []),
    ("Randomized Controlled Trial", 2, ["V03.175.250.500.500"], ["RCT"]),
    ("Tumors", 1, ["X01"], []),  # a heading that is another's entry term too
]


def write_descriptors(path, rows=ROWS):
    records = (
        RECORD.format(
            kind=kind,
            number=i,
            name=name,
            trees="".join(f"<TreeNumber>{t}</TreeNumber>" for t in trees),
            terms="".join(f"<Term><String>{t}</String></Term>" for t in (name, *terms)),
        )
        for i, (name, kind, trees, terms) in enumerate(rows)
    )
    path.write_text(DESCRIPTORS.format(records="\n".join(records)))
    return path


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    return load_mesh(write_descriptors(tmp_path_factory.mktemp("mesh") / "desc2026.xml"))


def test_headings_by_any_of_their_names(mesh):
    assert mesh.heading("breast cancer") == "breast neoplasms"
    assert mesh.heading("breast neoplasms") == "breast neoplasms"
    assert mesh.heading("tumors") == "tumors"
    assert mesh.heading("zebra") is None


def test_what_lies_below_a_heading_in_any_of_its_trees(mesh):
    below = {"neoplasms", "breast neoplasms", "carcinoma lobular"}
    assert set(mesh.narrower("neoplasms")) == below
    assert mesh.narrower("neoplasms")[0] == "neoplasms"
    assert mesh.narrower("breast neoplasms") == ("breast neoplasms", "carcinoma lobular")
    assert set(mesh.narrower("skin diseases")) == {"skin diseases", "breast neoplasms"}
    assert mesh.narrower("clinical trial")[1:] == ("randomized controlled trial",)
    assert mesh.narrower("zebra") == ("zebra",)


def test_beginnings_of_names(mesh):
    assert mesh.may_begin("breast cancer")
    assert not mesh.may_begin("breast feeding")


def test_a_compact_file_holds_the_same(mesh, tmp_path):
    mesh.save(tmp_path / "mesh.gz")
    assert load_mesh(tmp_path / "mesh.gz") == mesh


def test_gzipped_xml_and_qualifiers(tmp_path):
    plain = write_descriptors(tmp_path / "desc.xml")
    zipped = tmp_path / "desc.xml.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    qualifiers = tmp_path / "qual.xml"
    row = (
        "<QualifierRecord><QualifierName><String>{}</String></QualifierName>"
        "<TreeNumberList><TreeNumber>{}</TreeNumber></TreeNumberList><ConceptList><Concept>"
        "<TermList><Term><Abbreviation>{}</Abbreviation></Term></TermList></Concept></ConceptList>"
        "</QualifierRecord>"
    )
    rows = row.format("therapy", "Y01", "TH") + row.format("phototherapy", "Y01.100", "PX")
    qualifiers.write_text(f"<QualifierRecordSet>{rows}</QualifierRecordSet>")
    mesh = load_mesh(zipped, qualifiers)
    assert len(mesh.descriptors) == len(ROWS)
    assert mesh.qualifier("px") == "phototherapy"
    assert mesh.narrower_qualifiers("therapy") == ("therapy", "phototherapy")


@pytest.mark.parametrize(
    "content",
    [b"", b"<DescriptorRecordSet>", b"<Other/>", b'{"format": "x"}', b"\x1f\x8b\x00", b"nonsense"],
)
def test_another_file_is_named_in_the_error(tmp_path, content):
    path = tmp_path / "wrong.xml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"wrong\.xml"):
        load_mesh(path)


def test_built_in_subheadings():
    assert qualifier("dt") == "drug therapy"
    assert qualifier("drug therapy") == "drug therapy"
    assert {"drug therapy", "surgery", "transplantation"} < set(narrower_qualifiers("therapy"))
    assert narrower_qualifiers("mortality") == ("mortality",)
    assert narrower_qualifiers("surgery") == ("surgery", "transplantation")
