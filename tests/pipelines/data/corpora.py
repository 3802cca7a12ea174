"""Small PubMed files with a vocabulary of their own, for builds."""

import gzip
import random
from pathlib import Path


def article(pmid: int, seed: int = 0) -> str:
    """An article whose text depends on its id and `seed`."""
    rng = random.Random(f"{pmid} {seed}")
    words = [f"word{rng.randrange(2000)}" for _ in range(60)]
    year = rng.randrange(1970, 2021)
    return (
        f"<PubmedArticle><MedlineCitation Status='MEDLINE'><PMID>{pmid}</PMID><Article><Journal>"
        f"<JournalIssue><PubDate><Year>{year}</Year></PubDate></JournalIssue><Title>J {pmid % 7}"
        f"</Title></Journal><ArticleTitle>{' '.join(words[:8])}.</ArticleTitle><Abstract>"
        f"<AbstractText>{' '.join(words[8:])}.</AbstractText></Abstract></Article><MeshHeadingList>"
        f"<MeshHeading><DescriptorName UI='D{pmid % 9}'>Heading {pmid % 9}</DescriptorName>"
        "</MeshHeading></MeshHeadingList></MedlineCitation></PubmedArticle>\n"
    )


def write_xml(path: Path, *parts: str) -> Path:
    """A PubMed file, gz where its name says so."""
    data = f"<?xml version='1.0'?>\n<PubmedArticleSet>\n{''.join(parts)}</PubmedArticleSet>\n"
    path.write_bytes(gzip.compress(data.encode()) if path.suffix == ".gz" else data.encode())
    return path


def baseline(folder: Path, files: int, articles: int) -> list[Path]:
    """`files` files of new articles, and an update that replaces one article and deletes two."""
    made = [
        write_xml(
            folder / f"pubmed20n{number:04d}.xml.gz",
            *(article(number * articles + n + 1) for n in range(articles)),
        )
        for number in range(files)
    ]
    delete = "<DeleteCitation><PMID>2</PMID><PMID>3</PMID></DeleteCitation>"
    update = write_xml(folder / "pubmed21n0001.xml", article(1, seed=1), delete)
    return [*made, update]
