"""The analyzer: identifiers, scripts, stems."""

import pytest

from router.text import identifier_words, pretokenize, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserById", "get User By Id getUserById"),  # camelCase
        ("list_charges", "list charges listcharges"),  # snake_case
        ("user.getById", "user get By Id getById usergetById"),  # dots, and camelCase in a part
        ("HTMLParser", "HTML Parser HTMLParser"),  # capitals before a word
        ("OAuth2", "Auth 2 OAuth OAuth2"),  # a lone letter is dropped, the whole forms stay
        ("APIs and URLs", "APIs and URLs"),  # a plural of capitals is one word
        ("v2.0", "2 v2 0 v20"),
        ("what's new", "what new"),  # possessive
        ("/etc/hosts, (x)", "etc hosts x"),  # punctuation
        ("顧客情報", "顧客 客情 情報"),  # bigrams
        ("AIモデル", "モデ デル AI"),  # two scripts in one word
        ("tạoĐơnHàng", "tạo Đơn Hàng tạoĐơnHàng"),
        ("ﬁnd", "find"),  # NFKC
        ("", ""),
        *((word, word) for word in ("हिन्दी", "العربية", "получить", "ქართული")),  # other scripts stay whole
    ],
)
def test_text_is_split_into_its_forms(text: str, expected: str) -> None:
    assert pretokenize(text) == expected


@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        ("list the charges", "listCharges"),
        ("listcharges", "list_charges"),
        ("oauth token", "createOAuth2Token"),
        ("creme brulee", "order_crème_brûlée"),
        ("repositories", "get-repository"),
        ("顧客を探す", "顧客検索"),
    ],
)
def test_a_request_shares_a_term_with_the_name_it_means(request_text: str, name: str) -> None:
    assert set(terms(request_text)) & set(terms(name))


def test_stop_words_and_blobs_go_and_verbs_of_operation_stay() -> None:
    assert terms("please can you get me all of the open issues") == ["get", "all", "open", "issu"]
    assert terms("x" * 200 + " refund") == ["refund"]
    assert identifier_words("stripe.listCharges_v2") == ["stripe", "list", "charges", "v", "2"]  # no joined forms
