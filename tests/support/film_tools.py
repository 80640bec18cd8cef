"""Tools of a film service, of which some need another to run first, and one of a provider that has no other."""

from typing import Any

from router import Router


def tool(tool_id: str, description: str, *required: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a line of a JSONL catalog; what stands before the slash is its provider."""
    provider, _, name = tool_id.rpartition("/")
    return {
        "id": tool_id,
        "name": name,
        "provider": provider or None,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {parameter: {"type": "string"} for parameter in (*required, *optional)},
            "required": list(required),
        },
    }


SEARCH = tool("films/search_person", "Search for people by their name.", "query")
CREDITS = tool("films/get_person_credits", "Return the films that a person has worked in.", "person_id")
FILMS = tool("films/search_film", "Search for films by title.", "query")
SIMILAR = tool("films/list_similar_films", "Return films that are similar to a film.", "film_id")
WEATHER = tool("weather/get_forecast", "Return the weather of the next days in a city.", "city")
FILM_TOOLS = (SEARCH, CREDITS, FILMS, SIMILAR, WEATHER)

# A chain of three: the image of a cast member takes its cast, the cast takes a film.
CHAIN = (
    tool("films/search_film", "Search for films by title.", "query"),
    tool("films/list_casts", "Return the casts of a film.", "film_id"),
    tool("films/list_images", "Return the images of a cast.", "cast_id"),
    tool("films/get_image_size", "Return the size of an image.", "image_id"),
)


def film_router(*tools: dict[str, Any], **options: Any) -> Router:
    """Return a router over tools in memory, without an encoder; the five of FILM_TOOLS by default."""
    by_provider: dict[str, list[dict[str, Any]]] = {}
    for row in tools or FILM_TOOLS:
        definition = {name: row[name] for name in ("name", "description", "parameters")}
        by_provider.setdefault(row["provider"] or "", []).append(definition)
    return Router.from_tools(by_provider, encoder=None, **options)
