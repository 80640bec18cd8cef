"""Text that the English analyzer does not read is told by its letters, stop words and accents, and of which it is."""

import pytest

from router.tools.foreign_text import foreign_script, request_language


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


@pytest.mark.parametrize(
    ("request_", "language"),
    [
        ("Wo bleibt mein Paket?", "de"),  # "wo" and "mein"
        ("donde esta el pedido de ayer", "es"),
        ("montre les factures de ce client", "fr"),
        ("envia a fatura para a minha cliente", "pt"),
        ("¿Cuánto cuesta el envío?", "es"),  # one stop word, beside an accent
        ("Donde pago? Una factura", "es"),  # a capital that begins a sentence
        ("Где мой заказ", "ru"),
        ("Де моє замовлення", "uk"),  # "є" is not Russian
        ("Отправь письмо Łukasz", "ru"),  # a name in another script
        ("سفارش من کجاست؟", "fa"),  # nor "ک" Arabic
        ("订单到哪里了", "zh"),
        ("注文はどこですか", "ja"),
        ("주문이 어디 있나요", "ko"),
        ("मेरा ऑर्डर कहाँ है", "hi"),
        ("Anahtar kelimeye göre müdürlüğü arar", "tr"),
        ("คำสั่งซื้อของฉันอยู่ที่ไหน", ""),  # Thai is none of the languages that can be indexed
    ],
)
def test_a_request_is_told_by_two_stop_words_of_its_language_or_by_letters_of_its_own(
    request_: str, language: str
) -> None:
    assert request_language(request_) == language


@pytest.mark.parametrize(
    "request_",
    [
        "show the bills",
        "list all Azure AI agents",  # two stop words of Italian, were "AI" none of its capitals
        "open /de/la/index.html",
        "Find a café near me",
        "rename the channel to die-neuen",
        "Flights Los Angeles Las Vegas",  # names
        "",
    ],
)
def test_an_english_request_stays_english(request_: str) -> None:
    assert request_language(request_) == "en"
