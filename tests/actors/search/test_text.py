from actors.search.text import fold, words


def test_words_are_folded_and_split_on_all_that_is_not_alphanumeric():
    assert words("Crohn's disease, IL-2 (β-catenin)") == [
        "crohn", "s", "disease", "il", "2", "beta", "catenin",
    ]  # fmt: skip
    assert words("Ménière naïve Straße Øre ﬁne") == ["meniere", "naive", "strasse", "ore", "fine"]
    assert words("снег_2 漢字") == ["снег", "2", "漢字"]
    assert words("\ud800 …") == []


def test_folding_twice_changes_nothing():
    assert words("℠ ™ ⅳ") == ["sm", "tm", "iv"]
    for code in range(0x20, 0x3000):
        assert fold(fold(chr(code))) == fold(chr(code))
