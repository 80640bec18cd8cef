"""Words of other languages have stems and parts, and English ones have none."""

import pytest

from router.text import terms
from router.tools.word_forms import request_forms, tool_language, word_forms


@pytest.mark.parametrize(
    ("description", "language"),
    [
        ("Storniert eine Rechnung, die noch nicht bezahlt ist.", "de"),
        ("Crée une étiquette d'expédition et la met dans le dossier.", "fr"),
        ("Devuelve el estado de un envío y los últimos movimientos.", "es"),
        ("Emite uma etiqueta e não cobra pelo serviço.", "pt"),
        ("Agenda da clínica de Lisboa", "pt"),  # its stop words are Danish too, which fewer people speak
        ("Отменяет заказ клиента", "ru"),
        ("Скасовує замовлення клієнта", "ru"),  # Ukrainian has the stems of its script's language
        ("يلغي طلب العميل", "ar"),
        ("取消订单", "und"),
        ("ยกเลิกการจองห้องพัก", "und"),
        ("Usuwa zamówienie klienta, którego już nie potrzebujesz", "und-Latn"),
        ("Cancel an order of a customer.", ""),
        ("Your AI powered Ad Assistant for HA and OS!", ""),  # stop words of Italian and Spanish, if small
        ("List all D and C entries", ""),
        ("create_issue", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_tool_is_that_of_its_description(description: str, language: str) -> None:
    assert tool_language(description) == language


@pytest.mark.parametrize(
    ("text", "language", "forms"),
    [
        ("Zahlungen", "de", "zahlung zahl ahlu hlun lung unge ngen"),
        ("die Häuser", "de", "haus haus ause user"),  # accents are folded, stop words left out
        ("отменить order 42", "ru", "отмен отме тмен мени енит нить"),  # neither English words nor numbers
        ("退款 refund", "und", "退 款"),  # bigrams are there already
        ("청구서 목록", "und", ""),
        ("ส่งบิล", "und", "ส่ง ่งบ งบิ บิล"),
        ("คืนเงิน", "und", "คืน ืนเ นเง เงิ งิน"),
    ],
)
def test_a_text_has_stems_and_parts_of_its_words(text: str, language: str, forms: str) -> None:
    assert sorted(word_forms(text, language).split()) == sorted(forms.split())


def test_stems_of_a_request_count_as_words_do_and_parts_less() -> None:
    forms = request_forms("отменить платежи", ["ru"])
    assert {form: weight for form, weight in forms.items() if weight == 1} == {"отмен": 1, "платеж": 1}
    assert {forms["отме"], forms["тежи"]} == {0.3}
    assert not {*forms} & {*terms("отменить платежи")}


@pytest.mark.parametrize(
    ("request_text", "languages"),
    [
        ("cancel the order of this customer", ["de", "ru", "und"]),
        ("cancel order", ["de"]),
        ("Rechnungen bitte nicht stornieren", ["ru", "und"]),
        ("отменить платежи", ["de"]),
        ("отменить платежи", []),
    ],
)
def test_a_request_in_no_language_of_the_tools_has_no_forms(request_text: str, languages: list[str]) -> None:
    assert request_forms(request_text, languages) == {}


def test_one_stop_word_shows_the_language_of_a_request_and_of_several_the_first_wins() -> None:
    assert request_forms("Wer hat Rechnungen?", ["fr", "de"])["rechnung"] == 1
    either = "que informações de reservas"  # its stop words are Portuguese and Spanish, its endings Portuguese
    assert request_forms(either, ["pt", "es"])["inform"] == 1
    assert "inform" not in {form for form, weight in request_forms(either, ["es", "pt"]).items() if weight == 1}


def test_a_very_long_request_has_a_bounded_number_of_forms_and_stems_come_first() -> None:
    request = " ".join(f"слово{chr(1072 + i % 32)}{chr(1072 + i // 32)}ами" for i in range(300))
    forms = request_forms(request, ["ru"])
    assert len(forms) == 256
    assert set(forms.values()) == {1.0}
    assert request_forms("отменить" + 4_000 * " " + "платежи", ["ru"]) == request_forms("отменить", ["ru"])
