"""A tiny PubMed and ClinicalTrials.gov behind a real server: a query `n5` has five hits."""

import re

from tests.actors.search.live.real_server import Call, Reply, json_reply


def pubmed(call: Call) -> Reply:
    """Answers of E-utilities; like PubMed, it cuts at 9,999 records and says so."""
    asked = call.parameters
    if call.path.endswith("esearch.fcgi"):
        term = asked.get("term", "")
        found = re.search(r"n(\d+)", term)
        if not found:
            return json_reply({"esearchresult": {"ERROR": "Odd query, said\nno"}})
        total, start = int(found[1]), int(asked["retstart"])
        stop = min(total, start + int(asked["retmax"]), 9_999)
        result = {
            "count": str(total),
            "retmax": str(max(0, stop - start)),
            "retstart": str(start),
            "idlist": [str(total * 100_000 + n) for n in range(start, stop)],
            "translationset": [],
            "querytranslation": f"<{term}>",
        }
        return json_reply({"header": {}, "esearchresult": result})
    if call.path.endswith("epost.fcgi"):
        key = "2" if "WebEnv" in asked else "1"
        return Reply(
            f"<ePostResult><QueryKey>{key}</QueryKey><WebEnv>W</WebEnv></ePostResult>".encode()
        )
    ids = asked["id"].split(",")
    if call.path.endswith("esummary.fcgi"):
        return json_reply({"result": {"uids": ids, **{one: {"uid": one} for one in ids}}})
    articles = "".join(
        f"<PubmedArticle><MedlineCitation><PMID>{one}</PMID><Article><ArticleTitle>T{one}"
        f"</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
        for one in ids
        if one != "999"
    )
    return Reply(f"<PubmedArticleSet>{articles}</PubmedArticleSet>".encode())


def trials(call: Call) -> Reply:
    """Answers of API v2."""
    asked = call.parameters
    if call.path.endswith("/version"):
        return json_reply({"apiVersion": "2.0.5"})
    if "/studies/" in call.path:
        return _study_reply(call.path.rsplit("/", 1)[1])
    if "filter.ids" in asked:
        ids = [one for one in asked["filter.ids"].split(",") if one != "NCT404"]
    elif found := re.search(r"n(\d+)", asked.get("query.term", "")):
        ids = [f"NCT{n:08}" for n in range(int(found[1]))]
    else:
        return Reply(b"Error parsing query in `query.term`: missing ']'", 400)
    start, size = int(asked.get("pageToken", "0")), int(asked["pageSize"])
    page: dict[str, object] = {"studies": [_study(one) for one in ids[start : start + size]]}
    if asked.get("countTotal") == "true":
        page["totalCount"] = len(ids)
    if start + size < len(ids):
        page["nextPageToken"] = str(start + size)
    return json_reply(page)


def _study(one: str) -> dict[str, object]:
    names = {"nctId": one, "briefTitle": f"Trial {one}"}
    return {
        "protocolSection": {
            "identificationModule": names,
            "descriptionModule": {"briefSummary": "A\n b"},
        }
    }


def _study_reply(one: str) -> Reply:
    return Reply(b"not found", 404) if one == "NCT404" else json_reply(_study(one))
