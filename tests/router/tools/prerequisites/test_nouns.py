"""What identifiers and paths say."""

import pytest

from router.tools.prerequisites.nouns import bare_name, identified_noun, literal_segments, path_of, placeholders
from tests.support.factories import make_record


@pytest.mark.parametrize(
    ("parameter", "noun"),
    [
        ("person_id", ("person",)),
        ("originEntityId", ("origin", "entity")),
        ("geoid", ("geo",)),
        ("id", ()),
        ("updates[].contactIds", ("contact",)),
        *((other, None) for other in "name paid query username_or_id_or_url id_type".split()),
        ("", None),
    ],
)
def test_an_identifiers_name_says_what_it_identifies(parameter: str, noun: tuple[str, ...] | None) -> None:
    assert identified_noun(parameter) == noun


@pytest.mark.parametrize(
    ("name", "description", "annotations", "path"),
    [
        ("get_/person/{person_id}", "", {}, "/person/{person_id}"),
        ("and/or", "", {}, ""),
        # An operation's own path wins, and a description has one only where it begins with it.
        ("GET /other", "", {"method": "GET", "path": "/domains/{domainId}?preview=true"}, "/domains/{domainId}"),
        ("find", "GET /search/person: finds people.", {}, "/search/person"),
        ("find", "Finds what lies under /search/person.", {}, ""),
    ],
)
def test_a_path_is_read_from_a_name(name: str, description: str, annotations: dict[str, str], path: str) -> None:
    assert path_of(make_record(name, description=description, annotations=annotations)) == path


def test_a_placeholder_identifies_the_segment_before_it() -> None:
    assert placeholders("/v1/users/{id}/playlists/{playlistId}") == [("id", ("user",)), ("playlistId", ("playlist",))]
    assert placeholders("/users/:id") == [("id", ("user",))]
    assert literal_segments("/api/v3/users/{id}/playlists") == ["users", "playlists"]  # neither it nor a version is one


@pytest.mark.parametrize(
    ("name", "annotations", "bare"),
    [
        ("read_user_users__id__get", {"method": "GET", "path": "/users/{id}"}, "read_user"),
        ("read_user_users__id__get", {}, "read_user_users__id_"),
        ("read_flows_flows_filter_post", {}, "read_flows_flows_filter"),
        ("create_blog_post", {}, "create_blog_post"),
    ],
)
def test_a_generated_name_loses_its_path_and_its_method(name: str, annotations: dict[str, str], bare: str) -> None:
    assert bare_name(make_record(name, annotations=annotations)) == bare
