"""Short labels: what an API is called by those who ask for it."""

from typing import Any

import pytest

from pipeline.sources.provider_label import label_of_document, label_of_server, long_label_note

# Titles and servers of well-known public APIs as their documents have them, and what they are to be called.
PAIRS = (
    ("GitHub v3 REST API", "https://api.github.com", "github"),
    ("GitHub's official OpenAPI spec + Octokit extension", "https://api.github.com", "github"),
    ("GitHub's official OpenAPI spec + Octokit extension", None, "github"),
    ("GitHub v3 REST API", "{protocol}://{hostname}/api/v3", "github"),
    ("Twilio - Api", "https://api.twilio.com", "twilio"),
    ("Kubernetes", None, "kubernetes"),
    ("The Jira Cloud platform REST API", "https://your-domain.atlassian.net", "jira-cloud"),
    ("The Confluence Cloud REST API v2", "https://{your-domain}/wiki/api/v2", "confluence-cloud"),
    ("Google Calendar API", "https://www.googleapis.com/calendar/v3", "google-calendar"),
    ("YouTube Data API v3", "https://youtube.googleapis.com/", "youtube-data"),
    ("Amazon Simple Storage Service", "http://s3.{region}.amazonaws.com", "amazon-simple-storage"),
    ("AWS Lambda", "http://lambda.{region}.amazonaws.com", "aws-lambda"),
    ("ComputeManagementClient", "https://management.azure.com", "compute"),
    ("Azure Key Vault client", "https://{vault}.vault.azure.net", "azure-key-vault"),
    ("Microsoft Graph REST API v1.0", "https://graph.microsoft.com/v1.0", "microsoft-graph"),
    ("OpenAI API", "https://api.openai.com/v1", "openai"),
    ("Discord HTTP API (Preview)", "https://discord.com/api/v10", "discord"),
    ("Zoom Meeting API", "https://api.zoom.us/v2", "zoom"),
    ("Orders", "https://api-m.sandbox.paypal.com", "paypal"),
    ("Adyen Checkout API", "https://checkout-test.adyen.com/v71", "adyen"),
    ("Mailchimp Marketing API", "https://${dc}.api.mailchimp.com/3.0", "mailchimp"),
    ("Twilio SendGrid v3 API", "http://api.sendgrid.com/v3", "twilio-sendgrid"),
    ("Article Search API", "http://api.nytimes.com/svc/search/v2", "nytimes"),
    ("Support API", "https://{subdomain}.{domain}.com", "zendesk"),
    ("Fly Machines API", "https://api.machines.dev/v1", "fly-machines"),
    ("Datadog API V2 Collection", "https://{subdomain}.{site}", "datadog"),
    ("Docker Engine API", None, "docker-engine"),
    ("Circle CI REST API", "https://circleci.com/api/v1", "circleci"),
    ("APOD", "https://api.nasa.gov/planetary", "apod"),
    ("Companies House Public Data API", "https://api.company-information.service.gov.uk", "companies-house-public"),
    ("REST API v2", "https://api.acme.io", "acme"),
    ("API Documentation", "http://localhost:8080", None),
    ("Acme Corp. Billing Service", "http://192.168.0.1/api", "acme-billing"),
    ("FastAPI", "https://example.com", "fastapi"),
    ("Instagram Graph API", "https://graph.facebook.com", "instagram-graph"),
    ("The Movie Database API", "https://api.themoviedb.org/3", "themoviedb"),
    ("Lichess.org API reference", "https://lichess.org", "lichess"),
    ("1Password Connect", "http://localhost:8080/v1", "1password-connect"),
    ("Weather forecast service", "https://weather-app.herokuapp.com", "weather-forecast"),
    ("天気API", None, "天気"),
    ("Square", "https://connect.squareup.com", "square"),
    ("Okta Admin Management", "https://{yourOktaDomain}", "okta-admin"),
    ("Grafana HTTP API.", "/api", "grafana"),
    ("Cloud Run Admin API", "https://run.googleapis.com/", "cloud-run-admin"),
    ("Dropbox Sign API", "https://api.hellosign.com/v3", "hellosign"),
    ("Ory APIs", "https://{project}.projects.oryapis.com/", "ory"),
    ("Postman API", "https://api.getpostman.com", "postman"),
    ("Elasticsearch Request & Response Specification", None, "elasticsearch-request-response"),
    ("The Rick and Morty API", "https://rickandmortyapi.com/api", "rick-and-morty"),
    ("openapi.yaml", None, None),
)


VARIABLES = {"domain": {"default": "zendesk"}, "subdomain": {"default": "api"}, "site": {"default": "datadoghq.com"}}


def document(title: object, *urls: object) -> dict[str, object]:
    return {"info": {"title": title}, "servers": [{"url": url, "variables": VARIABLES} for url in urls]}


@pytest.mark.parametrize(("title", "url", "label"), PAIRS)
def test_known_apis_are_called_as_people_call_them(title: str, url: str | None, label: str | None) -> None:
    assert label_of_document(document(title, *([url] if url else []))) == label


@pytest.mark.parametrize(
    "url",
    [
        *("http://localhost:8080", "https://127.0.0.1/v1", "https://[::1]/v1", "http://intranet", "/api/v3", "", None),
        *("https://api.example.com", "https://your-domain.com", "https://yourcompany.io", "https://<your-company>.com"),
        *("https://{host}/v1", "https://{tenant}.{zone}", "http://printer.local", "https://[broken", 7),
    ],
)
def test_a_server_that_names_nobody_leaves_the_title_to_decide(url: object) -> None:
    assert label_of_document(document("Acme Billing API", url)) == "acme-billing"
    assert label_of_document(document("REST API", url)) is None


@pytest.mark.parametrize(
    ("said", "label"),
    [
        (document("API", "https://{region}.api.acme.com"), "acme"),  # a variable before the domain does not hide it
        (document("API", "https://api.acme.co.uk"), "acme"),
        (document("API", "http://localhost", "https://api.acme.com", "https://other.com"), "acme"),
        ({"swagger": "2.0", "info": {"title": "API"}, "host": "api.acme.com:443"}, "acme"),
        (document("API", "https://pay.googleapis.com"), "googleapis"),  # shared, and the title says nothing
        *((nothing, None) for nothing in ({}, {"info": None}, {"info": {"title": None}, "servers": {}})),
        ({"servers": ["x"]}, None),
    ],
)
def test_where_the_title_says_nothing_the_first_server_with_a_domain_decides(said: Any, label: str | None) -> None:
    assert label_of_document(said) == label


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("pager", "pager"),
        ("GitHub MCP Server", "GitHub MCP Server"),  # three words: as it is
        ("@acme/mail", "@acme/mail"),
        ("io.github.modelcontextprotocol/server-filesystem", "filesystem"),
        ("The official Model Context Protocol server for Acme", "acme"),
        ("mcp-server-for-the-mcp-server-mcp", "mcp-server-for"),  # nothing but boilerplate
    ],
)
def test_a_long_server_name_is_cut_to_the_words_that_tell_it_from_others(name: str, label: str) -> None:
    assert label_of_server(name) == label


def test_long_labels_are_told_with_the_way_to_set_another() -> None:
    assert long_label_note(["github", None, "google-calendar"]) is None
    one = long_label_note(["The Acme of the North"] * 1223)
    assert one is not None and one.startswith(
        "the provider label of 1,223 tools is long, 'The Acme of the North': it stands in every id"
    )
    assert "--provider NAME" in one and "catalog.toml" in one
    two = long_label_note(["a b c d", "e f g h", "e f g h"])
    assert two is not None and two.startswith("2 provider labels are long, such as 'e f g h', 'a b c d': ")
