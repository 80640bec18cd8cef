"""Requests find tools in their language by other forms of its words, and English requests lose nothing by that."""

import json
from pathlib import Path

import pytest

from router import Router
from router.contract import MANIFEST, Manifest
from router.fingerprint import fingerprint
from router.search.search import encode
from router.snapshot.memory import snapshot_from_records
from router.snapshot.overlay import Overlay
from router.snapshot.overlay.layering import apply_overlay
from router.snapshot.snapshot import Snapshot
from tests.support.factories import make_record

ENGLISH = [
    make_record("cancel", "shop", description="Cancels an order of the customer."),
    make_record("refund", "shop", description="Refunds a payment of the customer."),
]
# By language: the tool that is meant, another one, and a request that has no whole word in common with the first.
OTHERS = {
    "de": ("Storniert eine Bestellung und die Lieferung.", "Sendet eine Nachricht an das Team.", "meine Bestellungen?"),
    "fr": ("Annule une commande et la livraison.", "Envoie un message à une équipe.", "annulez mes commandes"),
    "ru": ("Отменяет заказ и доставку.", "Отправляет сообщение команде.", "отменить заказы"),
    "el": ("Ακυρώνει την παραγγελία.", "Στέλνει μήνυμα στην ομάδα.", "ακύρωση παραγγελίας"),
    "ar": ("يلغي طلب العميل.", "يرسل رسالة إلى الفريق.", "الطلبات"),
    "hi": ("ग्राहक का ऑर्डर रद्द करता है।", "टीम को संदेश भेजता है।", "ऑर्डरों"),
    "th": ("ยกเลิกคำสั่งซื้อของลูกค้า", "ส่งข้อความถึงทีมงาน", "อยากยกเลิก"),
    "zh": ("取消客户的订单。", "向团队发送消息。", "单子要消掉"),
    "pl": ("Usuwa zamówienie, którego już nie chcesz.", "Wysyła wiadomość zespołowi.", "usuń zamówień"),
}


def snapshot_of(language: str) -> Snapshot:
    meant, other, _ = OTHERS[language]
    own = [make_record(name, language, description=text) for name, text in (("a", other), ("b", meant), ("c", other))]
    return snapshot_from_records([*ENGLISH, *own], {}, None)


@pytest.mark.parametrize("language", OTHERS)
def test_a_request_finds_its_tool_by_other_forms_of_the_words(language: str) -> None:
    assert Router(snapshot_of(language)).route(OTHERS[language][2]).ids[0] == f"{language}/b"


def test_an_english_request_searches_no_forms_and_an_english_catalog_has_none() -> None:
    mixed, english = snapshot_of("de"), snapshot_from_records(ENGLISH, {}, None)
    assert (mixed.manifest.tool_languages, english.manifest.tool_languages) == (("de",), ())
    for snapshot, request in ((mixed, "cancel the order"), (english, "die Bestellungen stornieren")):
        assert encode(snapshot, [request], snapshot.recipe)[0].forms == {}


def test_a_tool_registered_at_run_time_is_found_by_forms_too() -> None:
    base = snapshot_from_records(ENGLISH, {}, None)
    registered = [make_record("b", "de", description=OTHERS["de"][0])]
    laid = apply_overlay(base, Overlay().registered(registered))
    assert laid.manifest.tool_languages == ("de",)
    assert Router(laid).route("wo sind meine Bestellungen?").ids == ("de/b",)


def test_a_manifest_without_the_languages_of_tools_is_read_as_before(snapshot: Path, tmp_path: Path) -> None:
    written = json.loads((snapshot / MANIFEST).read_text(encoding="utf-8"))
    assert (written.pop("tool_languages"), written.pop("checksum") != "") == ([], True)
    written["checksum"] = fingerprint(written)
    read = Manifest.from_bytes(json.dumps(written).encode(), tmp_path / MANIFEST)
    assert read == Manifest.read(snapshot)
