"""How an operation of a document is called: places, styles and bodies of its arguments."""

from collections.abc import Callable
from typing import Any

from router.operation import BodyField, Operation, OperationBody, OperationParameter

Read = Callable[..., Operation]


def test_every_place_has_its_default_style(operation_of: Read) -> None:
    parameters = [{"name": name, "in": place, "schema": {}} for name, place in
                  [("a", "path"), ("b", "query"), ("c", "header"), ("d", "cookie")]]  # fmt: skip
    assert operation_of({"parameters": parameters}, path="/x/{a}") == Operation(
        "GET",
        "/x/{a}",
        parameters=(
            OperationParameter("a", "path", style="simple"),
            OperationParameter("b", "query", style="form", explode=True),
            OperationParameter("c", "header", style="simple"),
            OperationParameter("d", "cookie", style="form", explode=True),
        ),
    )


def test_styles_that_the_place_has_are_kept_and_others_fall_back(operation_of: Read) -> None:
    rows = [
        {"name": "a", "in": "query", "style": "deepObject"},
        {"name": "b", "in": "query", "style": "pipeDelimited", "allowReserved": True},
        {"name": "c", "in": "query", "style": "form", "explode": False},
        {"name": "d", "in": "query", "style": "matrix"},
        {"name": "e", "in": "query", "style": ["form"], "explode": "yes"},
        {"name": "f", "in": "query", "content": {"application/json": {"schema": {}}}},
        {"name": "g", "in": "nowhere"},
    ]
    assert operation_of({"parameters": rows}).parameters == (
        OperationParameter("a", "query", style="deepObject", explode=True),
        OperationParameter("b", "query", style="pipeDelimited", allow_reserved=True),
        OperationParameter("c", "query", style="form"),
        OperationParameter("d", "query", style="form", explode=True),
        OperationParameter("e", "query", style="form", explode=True),
        OperationParameter("f", "query", style="form", explode=True, media_type="application/json"),
    )


def test_a_merged_body_names_its_fields_and_any_other_is_one_argument(operation_of: Read) -> None:
    def body(schema: Any, media: str = "application/json", **more: Any) -> OperationBody | None:
        content = (
            {"text/plain": {}, media: {"schema": schema, **more}}
            if "json" in media
            else {media: {"schema": schema, **more}}
        )
        return operation_of({"requestBody": {"required": True, "content": content}}, "post").body

    two = {"type": "object", "properties": {"a": {}, "b": {}}}
    fields = (BodyField("a"), BodyField("b"))
    assert body(two) == OperationBody("application/json", fields=fields, required=True)
    assert body({"type": "array"}) == OperationBody("application/json", "body", required=True)
    assert body({**two, "additionalProperties": True}) == OperationBody("application/json", "body", required=True)
    photo = {"type": "object", "properties": {"a": {}, "photo": {"type": "string", "format": "binary"}}}
    encoding = {"photo": {"contentType": "image/png, image/jpeg"}, "a": {"style": "pipeDelimited"}}
    assert body(photo, "multipart/form-data", encoding=encoding) == OperationBody(
        "multipart/form-data",
        fields=(BodyField("a", style="pipeDelimited"), BodyField("photo", media_type="image/png", is_file=True)),
        required=True,
    )


def test_swagger_s_parameters_say_the_same_in_their_own_words(operation_of: Read) -> None:
    rows = [
        {"name": "a", "in": "query", "type": "array"},
        {"name": "b", "in": "query", "type": "array", "collectionFormat": "multi"},
        {"name": "c", "in": "query", "type": "array", "collectionFormat": "tsv"},
        {"name": "d", "in": "path", "type": "array", "collectionFormat": "ssv"},
        {"name": "e", "in": "header", "type": "array", "collectionFormat": "multi"},
        {"name": "f", "in": "formData", "type": "array", "collectionFormat": "pipes"},
        {"name": "b", "in": "formData", "type": "string", "required": True},
    ]
    found = operation_of({"parameters": rows}, "post", "/x/{d}", swagger="2.0")
    assert found.parameters == (
        OperationParameter("a", "query", style="form"),
        OperationParameter("b", "query", style="form", explode=True),
        OperationParameter("c", "query", style="tabDelimited"),
        OperationParameter("d", "path", style="spaceDelimited"),
        OperationParameter("e", "header", style="simple"),
    )
    assert found.body == OperationBody(
        "application/x-www-form-urlencoded",
        fields=(BodyField("f", style="pipeDelimited"), BodyField("formData_b", "b", style="form")),
        required=True,
    )


def test_a_swagger_form_with_a_file_is_multipart_and_a_body_has_what_is_consumed(operation_of: Read) -> None:
    file = [{"name": "photo", "in": "formData", "type": "file"}]
    assert operation_of({"parameters": file}, "post", swagger="2.0").body == OperationBody(
        "multipart/form-data", fields=(BodyField("photo", is_file=True),)
    )
    body = [{"name": "it", "in": "body", "required": True, "schema": {"type": "string"}}]
    for consumes, media in [([], "application/json"), (["text/csv"], "text/csv"),
                            (["application/xml", "application/vnd.a+json"], "application/vnd.a+json")]:  # fmt: skip
        found = operation_of({"parameters": body, "consumes": consumes}, "post", swagger="2.0")
        assert found.body == OperationBody(media, "body", required=True)
