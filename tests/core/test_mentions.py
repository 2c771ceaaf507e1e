from __future__ import annotations

import pytest

from resay.core.mentions import mention_score, mentions_name, mentions_similar


@pytest.mark.parametrize(
    ("name", "text", "is_mentioned"),
    [
        ("Garmo X100", "The Garmo X100 weighs 3 kg.", True),
        ("Garmo X100", "the garmo-x100 weighs 3 kg.", True),
        ("Garmo X100", "The Garmo X100-S weighs 3 kg.", False),
        ("Garmo X100", "The Garmo X1000 weighs 3 kg.", False),
        ("X100-S", "The Garmo X100-S weighs 3 kg.", True),
        ("Ada Lovelace", "Ada  Lovelace's mother", True),
        ("!", "!", False),
    ],
)
def test_a_name_is_not_part_of_another(name: str, text: str, is_mentioned: bool) -> None:
    assert mentions_name(name, text) is is_mentioned


def test_a_longer_name_may_be_of_something_else() -> None:
    assert mention_score("Garmo X100", "The Garmo X100 Pro weighs 3 kg.") == 0.5
    assert mention_score("Garmo X100", "Garmo X100 Manual. The Garmo X100 weighs 3 kg.") == 1.0


@pytest.mark.parametrize(
    ("name", "text", "is_similar"),
    [
        ("Garmo X100", "The Garmo X110 weighs 3 kg.", True),
        ("X100", "The X100-S weighs 3 kg.", True),
        ("Windows 11", "Windows 10 came before.", True),
        ("Garmo X100", "It weighs 3 kg.", False),
        ("X100", "An A4 weighs 3 kg.", False),
        ("Ada Lovelace", "Ada Byron", False),
        ("2024", "2023", False),
        ("March 1932", "March 1950", False),
    ],
)
def test_nearly_the_same_name_is_similar(name: str, text: str, is_similar: bool) -> None:
    assert mentions_similar(name, text) is is_similar
