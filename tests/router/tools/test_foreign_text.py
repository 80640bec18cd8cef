"""Text that the English analyzer does not read is told by its letters, stop words and accents."""

import pytest

from router.tools.foreign_text import foreign_script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("获取股票的实时行情数据，支持多种数据源", "Han"),
        ("デバイスのステータスを取得します", "Katakana"),
        ("Возвращает список клиентов", "Cyrillic"),
        ("Récupère la liste des clients avec pagination optionnelle", "Latin"),
        ("Belirli bir bölgeden rastgele bir Pokémon seç", "Latin"),
    ],
)
def test_a_text_in_another_language_is_told_by_its_script(text: str, script: str) -> None:
    assert foreign_script(text) == script


@pytest.mark.parametrize(
    "text",
    [
        "List all your Raindrop.io collections",
        "Pokémon lookup",
        "The menu of the Café de la Paix",
        "Find a café or a pâtisserie near the user, with its menu",
        "Converts Chinese numerals (such as 二十) into digits and back, for the calendar of a year",
        "create_issue",
    ],
)
def test_english_with_names_accents_or_a_few_other_letters_is_english(text: str) -> None:
    assert foreign_script(text) == ""
