import pytest

from pipelines.corag.command import explain_with_value


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["q", "--explain"], ["q", "--explain", "text"]),
        (["--explain", "What is x?"], ["--explain", "text", "What is x?"]),
        (["--explain", "tree.svg", "q"], ["--explain", "tree.svg", "q"]),
        (
            ["q", "--explain", "out/Tree.PNG", "--json"],
            ["q", "--explain", "out/Tree.PNG", "--json"],
        ),
        (["q", "--explain", "--json"], ["q", "--explain", "text", "--json"]),
        (["q", "--explain=tree.svg"], ["q", "--explain=tree.svg"]),
        (["--", "--explain", "x"], ["--", "--explain", "x"]),
        (["q"], ["q"]),
        ([], []),
    ],
)
def test_explain_stands_alone_or_before_an_image(given, read):
    assert explain_with_value(given) == read
