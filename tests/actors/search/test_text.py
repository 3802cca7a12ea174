from actors.search.text import words


def test_words_are_folded_and_split_on_all_that_is_not_alphanumeric():
    assert words("Crohn's disease, IL-2 (β-catenin)") == [
        "crohn", "s", "disease", "il", "2", "beta", "catenin",
    ]  # fmt: skip
    assert words("Ménière naïve Straße Øre ﬁne") == ["meniere", "naive", "strasse", "ore", "fine"]
    assert words("снег_2 漢字") == ["снег", "2", "漢字"]
    assert words("\ud800 …") == []
