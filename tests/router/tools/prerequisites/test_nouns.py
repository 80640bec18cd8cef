"""What identifiers and paths say."""

import pytest

from router.tools.prerequisites.nouns import (
    bare_name,
    head_of,
    identified_noun,
    literal_segments,
    path_of,
    placeholder_in_name,
    placeholders,
)
from tests.support.factories import make_record


@pytest.mark.parametrize(
    ("parameter", "noun"),
    [
        ("person_id", ("person",)),
        ("originEntityId", ("origin", "entity")),
        ("geoid", ("geo",)),
        ("id", ()),
        ("team_slug", ("team",)),
        ("pathParams.stationId", ("station",)),
        ("updates[].contactIds", ("contact",)),
    ],
)
def test_an_identifiers_name_says_what_it_identifies(parameter: str, noun: tuple[str, ...]) -> None:
    assert identified_noun(parameter) == noun


@pytest.mark.parametrize(
    "parameter", ["name", "paid", "valid", "query", "username_or_id_or_url", "id_type", "grid", ""]
)
def test_other_names_identify_nothing(parameter: str) -> None:
    assert identified_noun(parameter) is None


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("GET /person/{person_id}/movie_credits", "/person/{person_id}/movie_credits"),
        ("get_/person/{person_id}", "/person/{person_id}"),
        ("/search", "/search"),
        ("list_persons", ""),
        ("and/or", ""),
    ],
)
def test_a_path_is_read_from_a_name(name: str, path: str) -> None:
    assert path_of(make_record(name)) == path


def test_an_operations_own_path_wins_over_its_name_and_a_description_has_one_only_where_it_begins_with_it() -> None:
    record = make_record("GET /other", annotations={"method": "GET", "path": "/domains/{domainId}?preview=true"})
    assert path_of(record) == "/domains/{domainId}"
    assert path_of(make_record(description="GET /search/person: finds people.")) == "/search/person"
    assert path_of(make_record(description="Finds what lies under /search/person.")) == ""


def test_a_placeholder_identifies_the_segment_before_it() -> None:
    assert placeholders("/v1/users/{id}/playlists/{playlistId}") == [("id", ("user",)), ("playlistId", ("playlist",))]
    assert placeholders("/users/:id") == [("id", ("user",))]
    assert literal_segments("/api/v3/users/{id}/playlists") == ["users", "playlists"]  # neither it nor a version is one


def test_words_that_name_no_thing_are_dropped_from_a_head() -> None:
    assert head_of(("artist", "info")) == ("artist",)
    assert head_of(("search", "result")) == ()


@pytest.mark.parametrize(
    ("name", "annotations", "bare"),
    [
        ("read_user_users__id__get", {"method": "GET", "path": "/users/{id}"}, "read_user"),
        ("read_user_users__id__get", {}, "read_user_users__id_"),
        ("read_flows_flows_filter_post", {}, "read_flows_flows_filter"),
        ("create_blog_post", {}, "create_blog_post"),
        ("get", {"method": "GET", "path": "/"}, "get"),
    ],
)
def test_a_generated_name_loses_its_path_and_its_method(name: str, annotations: dict[str, str], bare: str) -> None:
    assert bare_name(make_record(name, annotations=annotations)) == bare


def test_a_generated_name_tells_what_stands_before_a_placeholder() -> None:
    assert placeholder_in_name("resume_flow_run_flow_runs__id__resume_post", "id") == ("run",)
    assert placeholder_in_name("resume_flow_run", "id") == ()
