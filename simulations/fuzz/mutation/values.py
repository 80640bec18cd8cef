"""The dictionary: values and tokens on which parsers and checks have failed before, here or elsewhere."""

from random import Random

from simulations.fuzz.mutation.trees import Literal, Members, Tree

TEXTS = (
    "",
    " ",
    "\x00",
    "\ud800",
    "\udfff\ud800",
    "\ufeff",
    "\u2028",
    "\x85",
    "\x1b[31m\x1b]0;title\x07",
    "\u202egnp.exe\u2066",
    "\u200b\u200d\u00ad",
    "\U000e0041\U000e0042",
    "e\u0301" * 40,
    "\u0130I\u0131i\ufb01\u00df",
    "../../../../etc/passwd",
    "/dev/zero",
    "file:///etc/passwd",
    "http://[::1",
    "${HOME}${",
    "{{7*7}}<script>alert(1)</script>",
    "'; DROP TABLE tools; --",
    "%s%n{0}{a.__class__}",
    "__class__",
    "__proto__",
    "null",
    "no",
    "NaN",
    "1e999",
    "12:30",
    "2001-01-01",
    "*",
    "**/[!]]",
    "[" * 30,
    "(a+)+$",
    "~2",
    "#/components/schemas/A",
    "#/",
    "#",
    "\\",
    '"',
    "\r\n",
)
NUMBERS = (
    0, -1, 1, 2, 255, 2**31, -(2**31), 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**30, 1.5, -0.0, 1e308, 5e-324,
)  # fmt: skip
LITERALS = ("NaN", "Infinity", "-Infinity", "1e999", "-0", "01", "9" * 400, "9" * 5_000, "True", "nul", "'x'", "")
KEYS = (
    "name", "id", "type", "description", "parameters", "properties", "items", "enum", "required", "$ref", "allOf",
    "anyOf", "tools", "function", "inputSchema", "annotations", "provider", "format", "default", "const",
    "additionalProperties", "<<", "", "\x00", "\ud800", "__class__",
)  # fmt: skip
# Bytes that begin, end or break what the forms and protocols are made of.
TOKENS = (
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\\u", b"\\ud800", b"\n", b"\r\n", b"\r\n\r\n", b"\x00", b"\xff",
    b"\xc0\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\xf4\x90\x80\x80", b"---\n", b"...", b"&a ", b"*a",
    b"<<: ", b"<<: [*a, *a]\n", b"!!python/object:os.system ", b"!!binary x", b"? ", b"| ", b">", b"#", b"%YAML 1.2\n",
    b"[[", b"]]", b"'''", b"= ", b"Content-Length: 1\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n",
    b"ffffffffffffffff\r\n", b"GET / HTTP/1.1\r\n", b"HTTP/0.9", b"Host: \r\n", b"</think>", b"```json\n", b"data: ",
)  # fmt: skip
_DEPTHS = (10, 60, 130, 990, 6_000)
_LENGTHS = (100, 1_000, 10_000, 100_000)


def nasty_text(random: Random) -> str:
    """Return a text of the dictionary, or a very long one."""
    if random.random() < 0.06:
        return random.choice(("a", "aB", "_-", " a", "é", "\u0301")) * (random.choice(_LENGTHS) // 2)
    return random.choice(TEXTS)


def nasty_value(random: Random) -> Tree:
    """Return a value of another type or size than anybody expects."""
    kind = random.randrange(10)
    if kind < 3:
        return nasty_text(random)
    if kind < 5:
        return random.choice(NUMBERS)
    if kind < 6:
        return Literal(random.choice(LITERALS))
    if kind < 8:
        return random.choice((None, True, False, [], Members(), [None], Members([("", None)])))
    return _deep(random)


def _deep(random: Random) -> Tree:
    depth = random.choice(_DEPTHS)
    opening, closing = random.choice((("[", "]"), ('{"a":', "}"), ('{"properties":{"a":', "}}"), ('{"items":', "}")))
    return Literal(opening * depth + "0" + closing * (depth if random.random() < 0.9 else 0))
