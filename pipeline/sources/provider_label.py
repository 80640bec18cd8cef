"""Find short provider labels, the word that people say for an API, from its document or its MCP server's name.

A label is part of every tool id, of the searched texts and of the names that models read, so it is one to three words,
in lower case, joined by hyphens: `github`, `google-calendar`.

The rule for an OpenAPI document, each step only where the one before gives nothing:

1. The name of the servers' registrable domain: `github` of https://api.github.com. Not of a host that serves many
   vendors or products (`_SHARED_DOMAINS`, governments), not of a placeholder, an address or a local name; and not where
   it is the title in another form: `datadoghq` for "Datadog", `machines` (of machines.dev) for "Fly Machines".
2. The title without boilerplate ("official", "REST API", "v3", "Inc."): the first part with a word left, three words at
   most.
3. The domain's name after all, where the title is nothing but boilerplate.
4. None: the caller takes the file's name.

See docs/decisions/records.md. All labels that the rule was tried on are in the tests.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

from quartermaster.addresses import literal_address
from router.tools.text_overlap import MAX_LABEL_WORDS, is_long

_WHY_SHORT = (
    "it stands in every id and in the searched texts; set the word that people say with --provider NAME, or with "
    "`provider` in catalog.toml"
)

# Domains that serve other people's APIs, or many products of one vendor: there the title says which.
_SHARED_DOMAINS = frozenset(
    (
        # Vendors of many products
        "adobe.com adobe.io amazon.com amazonaws.com apple.com atlassian.com atlassian.net azure.com azure.net "
        "cisco.com facebook.com force.com google.com googleapis.com ibm.com microsoft.com microsoftonline.com "
        "office.com office365.com oracle.com oraclecloud.com salesforce.com sap.com vmware.com yahoo.com "
        "yahooapis.com zoho.com zohoapis.com "
        # Hosting, gateways, mocks, examples
        "amplifyapp.com apiary-mock.com apiary.io appspot.com azure-api.net azurecontainerapps.io azurewebsites.net "
        "beeceptor.com cloudapp.net cloudfront.net cloudfunctions.net deno.dev elasticbeanstalk.com firebaseapp.com "
        "firebaseio.com fly.dev github.io githubusercontent.com gitlab.io glitch.me herokuapp.com hf.space mashape.com "
        "mockable.io mocky.io modal.run myshopify.com netlify.app ngrok-free.app ngrok.app ngrok.io ondigitalocean.app "
        "onrender.com pages.dev pstmn.io railway.app rapidapi.com readme.io repl.co replit.app run.app stoplight.io "
        "supabase.co surge.sh swagger.io swaggerhub.com trycloudflare.com vercel.app web.app windows.net workers.dev"
    ).split()
)
# Second-level domains under a country's that are nobody's: example.co.uk, example.com.au.
_SECOND_LEVEL = frozenset("ac co com edu gob gouv gov govt go mil ne net nic nom or org sch service".split())
_GOVERNMENT = frozenset("gob gouv gov govt mil".split())
_LOCAL = frozenset("corp example home internal invalid lan local localdomain localhost onion test".split())
_PLACEHOLDER = re.compile(
    r"(?:your?|my|the|some|any)?[-_]?(?:api|app|company|custom|customer|domain|endpoint|example\w*|host|hostname"
    r"|instance|org|organi[sz]ation|server|site|subdomain|tenant|url)(?:[-_]?(?:domain|host|name|url))?",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(r"\$?\{\{?([^{}]*)\}?\}|<([^<>]*)>|(?<=[/.]):(\w+)")

_SEPARATOR = re.compile(r"\s{1,20}[-\u2010-\u2015+|/\u00b7]\s+|\s{0,20}[:|(\[]\s*|[)\],;]\s*|\s[-\u2013\u2014]|\.\s")
_LEGAL = re.compile(
    r"[\s,]{1,20}(?:incorporated|inc|llc|ltd|limited|gmbh|corporation|corp|plc|pty|s\.a|s\.r\.l|b\.v)\b\.?",
    re.IGNORECASE,
)
_BETWEEN_WORDS = re.compile(
    r"[\s_/&+,;!?(){}\"'`*#@<>=~^%$\[\]\\" "\u2018-\u201f\u2122\u00ae\u00a9\u2010-\u2015-]+" r"|\.+(?!\w)"
)
_STATUS = re.compile(r"^\s*\[[^\]]*\]")
_POSSESSIVE = re.compile("['\u2019]s?(?!\\w)")
_CLIENT = re.compile(r"(?<=[a-z])(?:Management)?Client$")
_NOT_LATIN_API = re.compile(r"(?<=[^\W\d_A-Za-z])APIs?$", re.IGNORECASE)
_ENDING = re.compile(r"(?<=\w)\.(?:com|io|org|net|dev|app|ai|co|ya?ml|json)$", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+(?:[._-]\d+)*(?:[._-]?(?:alpha|beta|rc|x)\d*)?|\d{4}-\d\d(?:-\d\d)?", re.IGNORECASE)
_OPEN_API = re.compile(r"\bopen[ -]api\b", re.IGNORECASE)
# What says nothing of whose API it is, wherever it stands.
_BOILERPLATE = frozenset(
    (
        "api apis rest restful openapi oas swagger spec specs specification specifications official unofficial version "
        "the documentation docs deprecated"
    ).split()
)
# What says nothing at the end of a title ("Spotify Web API", "Box Platform API") and may be the name elsewhere.
_AT_THE_END = frozenset(
    (
        "backend beta client core definition description developer developers endpoint endpoints external gateway http "
        "https interface json main management platform preview private production public reference schema sdk server "
        "servers service services web alpha internal collection co ag sa bv oy ab"
    ).split()
)
_JOINING = frozenset("and for of by to from with in on".split())
_AT_THE_START = frozenset("a an our your my for of to welcome this using".split())
_OF_SERVERS = frozenset("mcp server servers model context protocol modelcontextprotocol for with by the".split())
_WORD_OF_SERVER = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")


def label_of_document(document: Mapping[str, Any]) -> str | None:
    """Return the label of an OpenAPI or Swagger document by the rule above; None where it says nothing of a vendor."""
    info = document.get("info")
    title = info.get("title") if isinstance(info, Mapping) else None
    words = _title_words(title) if isinstance(title, str) else []
    for domain in _domains(document):
        name, *suffixes = domain.split(".")
        if not words:
            return name
        if domain not in _SHARED_DOMAINS and _GOVERNMENT.isdisjoint(suffixes) and not _is_form_of(name, words):
            return name
    return "-".join(words) or None


def label_of_server(name: str) -> str:
    """Return an MCP server's name; of a long one the words that tell it from others, three at most."""
    name = name.strip()
    if not is_long(name):
        return name
    words = [word.casefold() for word in _WORD_OF_SERVER.findall(name.rsplit("/", 1)[-1])]
    kept = [word for word in words if word not in _OF_SERVERS | _BOILERPLATE]
    return "-".join((kept or words)[:MAX_LABEL_WORDS]) or name


def long_label_note(labels: Iterable[str | None]) -> str | None:
    """Return a sentence on the labels, one a tool, that are longer than people would say them; None where none is."""
    tools = Counter(label for label in labels if label and is_long(label))
    if not tools:
        return None
    if len(tools) > 1:
        shown = ", ".join(repr(label) for label, _ in tools.most_common(2))
        return f"{len(tools)} provider labels are long, such as {shown}: {_WHY_SHORT}"
    ((label, count),) = tools.items()
    of = "a tool" if count == 1 else f"{count:,} tools"
    return f"the provider label of {of} is long, {label!r}: {_WHY_SHORT}"


def _is_form_of(name: str, words: Sequence[str]) -> bool:
    """Return whether a domain's name is the title in another form, as `datadoghq`, `getpostman` and `machines` are."""
    name = name.replace("-", "")
    whole, first = "".join(words), words[0]
    if name in accumulate(words):
        return False
    if whole.endswith(name) or (len(first) > 2 and name.startswith(first)):
        return True
    return whole == first and len(first) > 3 and first in name


def _title_words(title: str) -> list[str]:
    """Return the title's words without boilerplate, of its first part that has any; at most three."""
    for part in _SEPARATOR.split(_LEGAL.sub(" ", _OPEN_API.sub(" ", _STATUS.sub("", title)))):
        words = [_plain(word) for word in _BETWEEN_WORDS.split(_POSSESSIVE.sub("", part))]
        words = [word for word in words if word and word not in _BOILERPLATE and not _VERSION.fullmatch(word)]
        while words and words[0] in _AT_THE_START:
            del words[0]
        while words and words[-1] in _AT_THE_END | _JOINING:
            del words[-1]
        if words:
            del words[MAX_LABEL_WORDS:]
            while words[-1] in _JOINING:
                del words[-1]
            return words
    return []


def _plain(word: str) -> str:
    word = _CLIENT.sub("", word)
    return _ENDING.sub("", _NOT_LATIN_API.sub("", word)).casefold()


def _domains(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the registrable domains of a document's servers, in its order."""
    listed, host = document.get("servers"), document.get("host")
    servers = [server for server in listed if isinstance(server, Mapping)] if isinstance(listed, list) else []
    for server in (*servers, {"url": f"//{host}"} if isinstance(host, str) else {}):
        if domain := _registrable(_host(server)):
            yield domain


def _host(server: Mapping[str, Any]) -> str:
    """Return the host of a server's URL, variables replaced by their defaults; empty where it has none."""
    url, variables = server.get("url"), server.get("variables")
    if not isinstance(url, str):
        return ""

    def default(found: re.Match[str]) -> str:
        row = variables.get(found[1].strip()) if isinstance(variables, Mapping) and found[1] else None
        value = row.get("default") if isinstance(row, Mapping) else None
        return value if isinstance(value, str) else "{}"

    try:
        return (urlsplit(_TEMPLATE.sub(default, url)).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _registrable(host: str) -> str:
    """Return the part of a host that somebody registered, as `github.com`; empty where there is none."""
    labels = host.split(".")
    if literal_address(host) is not None or len(labels) < 2 or labels[-1] in _LOCAL:
        return ""
    size = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    if len(labels) > 3 and labels[-3:-1] == ["service", "gov"]:
        size = 4
    found = labels[-size:]
    if any(not re.fullmatch(r"[a-z0-9-]+", label) or label.startswith("xn--") for label in found):
        return ""
    return "" if _PLACEHOLDER.fullmatch(found[0]) else ".".join(found)
