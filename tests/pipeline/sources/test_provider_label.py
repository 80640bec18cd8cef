"""Short labels: what an API is called by those who ask for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.provider_label import label_of_document, label_of_server, long_label_note

# Titles and servers of well-known public APIs as their documents have them, and what they are to be called.
PAIRS = (
    ("GitHub v3 REST API", "https://api.github.com", "github"),
    ("GitHub's official OpenAPI spec + Octokit extension", "https://api.github.com", "github"),
    ("GitHub's official OpenAPI spec + Octokit extension", None, "github"),
    ("GitHub v3 REST API", "{protocol}://{hostname}/api/v3", "github"),
    ("Stripe API", "https://api.stripe.com/", "stripe"),
    ("Slack Web API", "https://slack.com/api", "slack"),
    ("Twilio - Api", "https://api.twilio.com", "twilio"),
    ("Twilio - Verify", "https://verify.twilio.com", "twilio"),
    ("Kubernetes", None, "kubernetes"),
    ("The Jira Cloud platform REST API", "https://your-domain.atlassian.net", "jira-cloud"),
    ("The Confluence Cloud REST API v2", "https://{your-domain}/wiki/api/v2", "confluence-cloud"),
    ("Swagger Petstore", "http://petstore.swagger.io/v1", "petstore"),
    ("Swagger Petstore - OpenAPI 3.0", "/api/v3", "petstore"),
    ("DigitalOcean API", "https://api.digitalocean.com", "digitalocean"),
    ("Calendar API", "https://www.googleapis.com/calendar/v3", "calendar"),
    ("Google Calendar API", "https://www.googleapis.com/calendar/v3", "google-calendar"),
    ("Gmail API", "https://gmail.googleapis.com/", "gmail"),
    ("Google Drive API v3", "https://www.googleapis.com/drive/v3", "google-drive"),
    ("YouTube Data API v3", "https://youtube.googleapis.com/", "youtube-data"),
    ("Amazon Simple Storage Service", "http://s3.{region}.amazonaws.com", "amazon-simple-storage"),
    ("Amazon Elastic Compute Cloud", "https://ec2.{region}.amazonaws.com", "amazon-elastic-compute"),
    ("AWS Lambda", "http://lambda.{region}.amazonaws.com", "aws-lambda"),
    ("ComputeManagementClient", "https://management.azure.com", "compute"),
    ("StorageManagementClient", "https://management.azure.com", "storage"),
    ("Azure Key Vault client", "https://{vault}.vault.azure.net", "azure-key-vault"),
    ("Microsoft Graph REST API v1.0", "https://graph.microsoft.com/v1.0", "microsoft-graph"),
    ("OpenAI API", "https://api.openai.com/v1", "openai"),
    ("Anthropic API", "https://api.anthropic.com", "anthropic"),
    ("Spotify Web API with fixes and improvements from sonallux", "https://api.spotify.com/v1", "spotify"),
    ("Notion API", "https://api.notion.com", "notion"),
    ("Asana", "https://app.asana.com/api/1.0", "asana"),
    ("Discord HTTP API (Preview)", "https://discord.com/api/v10", "discord"),
    ("Zoom Meeting API", "https://api.zoom.us/v2", "zoom"),
    ("Xero Accounting API", "https://api.xero.com/api.xro/2.0", "xero"),
    ("Box Platform API", "https://api.box.com/2.0", "box"),
    ("Orders", "https://api-m.sandbox.paypal.com", "paypal"),
    ("Adyen Checkout API", "https://checkout-test.adyen.com/v71", "adyen"),
    ("Plaid API", "https://production.plaid.com", "plaid"),
    ("Mailchimp Marketing API", "https://${dc}.api.mailchimp.com/3.0", "mailchimp"),
    ("Twilio SendGrid v3 API", "http://api.sendgrid.com/v3", "twilio-sendgrid"),
    ("CRM Owners", "https://api.hubapi.com", "hubapi"),
    ("Article Search API", "http://api.nytimes.com/svc/search/v2", "nytimes"),
    ("Support API", "https://{subdomain}.{domain}.com", "zendesk"),
    ("Cloudflare API", "https://api.cloudflare.com/client/v4", "cloudflare"),
    ("Vercel REST API", "https://api.vercel.com", "vercel"),
    ("Machines API", "https://api.machines.dev/v1", "machines"),
    ("Fly Machines API", "https://api.machines.dev/v1", "fly-machines"),
    ("Datadog API V2 Collection", "https://{subdomain}.{site}", "datadog"),
    ("PagerDuty API", "https://api.pagerduty.com", "pagerduty"),
    ("GitLab API", "https://www.gitlab.com/api/", "gitlab"),
    ("Docker Engine API", None, "docker-engine"),
    ("Heroku Platform API", "https://api.heroku.com", "heroku"),
    ("Circle CI REST API", "https://circleci.com/api/v1", "circleci"),
    ("Trello REST API", "https://api.trello.com/1", "trello"),
    ("Telegram Bot API", "https://api.telegram.org/bot{token}", "telegram"),
    ("APOD", "https://api.nasa.gov/planetary", "apod"),
    ("Companies House Public Data API", "https://api.company-information.service.gov.uk", "companies-house-public"),
    ("Royal Mail Shipping API", "https://api.royalmail.co.uk/shipping", "royalmail"),
    ("Composio Platform API", "https://backend.composio.dev", "composio"),
    ("Admin REST APIs", None, "admin"),
    ("REST API v2", "https://api.acme.io", "acme"),
    ("API Documentation", "http://localhost:8080", None),
    ("Acme Corp. Billing Service", "http://192.168.0.1/api", "acme-billing"),
    ("FastAPI", "https://example.com", "fastapi"),
    ("Instagram Graph API", "https://graph.facebook.com", "instagram-graph"),
    ("Open Charge Map API", "https://api.openchargemap.io/v3", "openchargemap"),
    ("The Movie Database API", "https://api.themoviedb.org/3", "themoviedb"),
    ("Lichess.org API reference", "https://lichess.org", "lichess"),
    ("1Password Connect", "http://localhost:8080/v1", "1password-connect"),
    ("Weather forecast service", "https://weather-app.herokuapp.com", "weather-forecast"),
    ("天気API", None, "天気"),
    # Gathered after the rule was written.
    ("Airtable Web API", "https://api.airtable.com/v0", "airtable"),
    ("Figma API", "https://api.figma.com", "figma"),
    ("Square", "https://connect.squareup.com", "square"),
    ("Intercom API", "https://api.intercom.io", "intercom"),
    ("Bitbucket API", "https://api.bitbucket.org/2.0", "bitbucket"),
    ("Netlify's API documentation", "https://api.netlify.com/api/v1", "netlify"),
    ("Okta Admin Management", "https://{yourOktaDomain}", "okta-admin"),
    ("Auth0 Management API", "https://{tenant}.auth0.com/api/v2", "auth0"),
    ("Snyk API", "https://api.snyk.io/rest", "snyk"),
    ("Sentry API", "https://{region}.sentry.io", "sentry"),
    ("Grafana HTTP API.", "/api", "grafana"),
    ("Google Maps Platform", "https://maps.googleapis.com", "google-maps"),
    ("Cloud Run Admin API", "https://run.googleapis.com/", "cloud-run-admin"),
    ("Amazon DynamoDB", "http://dynamodb.{region}.amazonaws.com", "amazon-dynamodb"),
    ("Shopify Admin API", "https://{store}.myshopify.com/admin/api", "shopify-admin"),
    ("Vimeo API", "https://api.vimeo.com", "vimeo"),
    ("Salesforce Platform REST", "https://{instance}.salesforce.com", "salesforce"),
    ("Dropbox Sign API", "https://api.hellosign.com/v3", "hellosign"),
    ("Brex Transactions API", "https://platform.brexapis.com", "brex-transactions"),
    ("Ory APIs", "https://{project}.projects.oryapis.com/", "ory"),
    ("Postman API", "https://api.getpostman.com", "postman"),
    ("Argo CD", "https://cd.apps.argoproj.io/api", "argo-cd"),
    ("Elasticsearch Request & Response Specification", None, "elasticsearch-request-response"),
    ("The Rick and Morty API", "https://rickandmortyapi.com/api", "rick-and-morty"),
    ("Binance Public Spot API", "https://api.binance.com", "binance"),
    ("openapi.yaml", None, None),
    ("Zendesk Support", "https://{subdomain}.zendesk.com", "zendesk"),
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
        "http://localhost:8080",
        "https://127.0.0.1/v1",
        "https://[::1]/v1",
        "https://api.example.com",
        "https://{host}/v1",
        "https://{tenant}.{zone}",
        "https://<your-company>.com",
        "https://your-domain.com",
        "https://yourcompany.io",
        "http://intranet",
        "http://printer.local",
        "https://[broken",
        "/api/v3",
        "",
        None,
        7,
    ],
)
def test_a_server_that_names_nobody_leaves_the_title_to_decide(url: object) -> None:
    assert label_of_document(document("Acme Billing API", url)) == "acme-billing"
    assert label_of_document(document("REST API", url)) is None


@pytest.mark.parametrize("url", ["https://{region}.api.acme.com", "https://${dc}.acme.com/3", "https://api.acme.co.uk"])
def test_a_variable_before_the_registered_domain_does_not_hide_it(url: str) -> None:
    assert label_of_document(document("API", url)) == "acme"


def test_the_first_server_with_a_domain_of_its_own_decides() -> None:
    assert label_of_document(document("API", "http://localhost", "https://api.acme.com", "https://other.com")) == "acme"


def test_swaggers_host_is_a_server_too() -> None:
    assert label_of_document({"swagger": "2.0", "info": {"title": "API"}, "host": "api.acme.com:443"}) == "acme"


def test_a_shared_domain_is_the_label_where_the_title_says_nothing() -> None:
    assert label_of_document(document("API", "https://pay.googleapis.com")) == "googleapis"


@pytest.mark.parametrize("document", [{}, {"info": None}, {"info": {"title": None}, "servers": {}}, {"servers": ["x"]}])
def test_a_document_that_says_nothing_of_its_vendor_has_no_label(document: dict[str, object]) -> None:
    assert label_of_document(document) is None


@given(st.text(max_size=80), st.sampled_from(["https://api.acme.com", "https://x.amazonaws.com", "/v1"]))
def test_no_title_makes_a_label_of_more_than_three_words(title: str, url: str) -> None:
    label = label_of_document(document(title, url))
    assert label is None or (label.strip() and label.count("-") <= 2 and label == label.casefold())


@given(st.text(max_size=80))
def test_a_label_made_of_a_label_is_the_same(title: str) -> None:
    label = label_of_document(document(title))
    again = label_of_document(document(label)) if label else None
    assert label is None or again is None or again in label


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
