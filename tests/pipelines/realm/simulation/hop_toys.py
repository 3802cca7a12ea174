"""Two-hop questions over made-up passages, as many as wanted."""

from dataclasses import dataclass

from pipelines.realm.types import Hop, HopQuestion

NAMES = ["Amber", "Birch", "Cedar", "Dahlia", "Elm", "Fern", "Ginkgo", "Hazel", "Iris", "Juniper"]


@dataclass(frozen=True)
class Toy:
    id: str
    title: str
    text: str


def passage_of(number, what):
    film, director, town = film_of(number), director_of(number), town_of(number)
    if what == "film":
        return Toy(
            f"f{number}", film, f"It is a film of long ago. {film} was made by {director}. It won."
        )
    return Toy(
        f"d{number}",
        director,
        f"Not much is known. {director} came from {town}, far away. So be it.",
    )


def film_of(number):
    return f"The {NAMES[number % 10]} Road {number}"


def director_of(number):
    return f"{NAMES[(number * 3 + 1) % 10]} Smith{number}"


def town_of(number):
    return f"{NAMES[(number * 7 + 2) % 10]}ville{number}"


def question_of(number):
    return HopQuestion(
        f"q{number}",
        f"Where did the maker of {film_of(number)} come from?",
        (town_of(number),),
        2,
        "bridge",
        "dev",
        frozenset({f"f{number}", f"d{number}"}),
        (
            Hop(f"Who made {film_of(number)}?", director_of(number), f"f{number}"),
            Hop("Where did #1 come from?", town_of(number), f"d{number}"),
        ),
    )


def toys(count):
    questions = tuple(question_of(number) for number in range(count))
    passages = tuple(
        passage_of(number, what) for number in range(count) for what in ("film", "director")
    )
    return questions, passages


def retrieved(*passages):
    body = "\n".join(f"{passage.title}: {passage.text}" for passage in passages)
    return f"<retrieved>\n{body}\n</retrieved>\n"
