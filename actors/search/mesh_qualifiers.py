"""The MeSH subheadings: two-letter abbreviations, and the families that searches explode along.

Source: NLM, "MeSH Qualifiers with Scope Notes" and "Qualifier Hierarchies" (MeSH introduction).
Names as the index normalises them: `&` and punctuation dropped.
"""

_TABLE = """
ab abnormalities; ad administration dosage; ae adverse effects; ag agonists;
aa analogs derivatives; an analysis; ah anatomy histology; ai antagonists inhibitors;
bi biosynthesis; bl blood; bs blood supply; cf cerebrospinal fluid; cs chemical synthesis;
ci chemically induced; ch chemistry; cl classification; co complications; cn congenital;
ct contraindications; cy cytology; df deficiency; di diagnosis; dg diagnostic imaging;
du diagnostic use; dh diet therapy; de drug effects; dt drug therapy; ec economics; ed education;
em embryology; en enzymology; ep epidemiology; es ethics; eh ethnology; et etiology; ge genetics;
gd growth development; hi history; im immunology; in injuries; ir innervation; is instrumentation;
ip isolation purification; lj legislation jurisprudence; me metabolism; mt methods;
mi microbiology; mo mortality; nu nursing; og organization administration; ps parasitology;
py pathogenicity; pa pathology; pk pharmacokinetics; pd pharmacology; ph physiology;
pp physiopathology; po poisoning; pc prevention control; px psychology; re radiation effects;
ri radionuclide imaging; rt radiotherapy; rh rehabilitation; sc secondary; se secretion;
st standards; sn statistics numerical data; sd supply distribution; su surgery; tu therapeutic use;
th therapy; to toxicity; tm transmission; tr transplantation; td trends; us ultrasonography;
ul ultrastructure; ur urine; ut utilization; ve veterinary; vi virology; ma manpower; ra radiography
"""
ABBREVIATIONS = {
    entry.split()[0]: " ".join(entry.split()[1:])
    for entry in _TABLE.replace("\n", " ").split(";")
    if entry.strip()
}
"""`dt` to `drug therapy`."""

_FAMILIES = """
analysis: blood, cerebrospinal fluid, isolation purification, urine
anatomy histology: blood supply, cytology, embryology, innervation, pathology, ultrastructure
cytology: pathology, ultrastructure
embryology: abnormalities
chemistry: agonists, analogs derivatives, antagonists inhibitors, chemical synthesis
complications: secondary
diagnosis: diagnostic imaging, pathology
diagnostic imaging: radiography, radionuclide imaging, ultrasonography
etiology: chemically induced, complications, congenital, embryology, genetics, immunology,
microbiology, parasitology, transmission
microbiology: virology
organization administration: economics, legislation jurisprudence, manpower, standards,
supply distribution, trends, utilization
pharmacology: administration dosage, adverse effects, agonists, antagonists inhibitors,
contraindications, diagnostic use, pharmacokinetics
adverse effects: poisoning, toxicity
physiology: genetics, growth development, immunology, metabolism, physiopathology, secretion
metabolism: biosynthesis, blood, cerebrospinal fluid, deficiency, enzymology, pharmacokinetics,
urine
statistics numerical data: epidemiology, supply distribution, utilization
epidemiology: ethnology, mortality
therapeutic use: administration dosage, adverse effects, contraindications, poisoning
therapy: diet therapy, drug therapy, nursing, prevention control, radiotherapy, rehabilitation,
surgery, transplantation
surgery: transplantation
"""


def _families() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _FAMILIES.replace(",\n", ", ").strip().splitlines():
        name, _, below = line.partition(": ")
        found[name] = tuple(part.strip() for part in below.split(","))
    return found


NARROWER = _families()
"""Subheadings and those directly below them."""
