"""What a model's files say of it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from pipeline.encoders.export import PACKAGED, TOOLS_ENCODER, EncoderModel, Export, packaged_folder, tools_folder
from pipeline.errors import RunAborted
from pipeline.progress import SilentProgress
from pipeline.settings import VectorSettings
from pipeline.vectors.model import resolve_encoder
from tests.support.notes import Notes
from tests.support.small_encoder import save


def resolved(encoder: str, **fields: object) -> EncoderModel:
    model = resolve_encoder(VectorSettings(encoder=encoder, **fields), SilentProgress())
    assert model is not None
    return model


def test_auto_begins_with_the_encoder_that_comes_along_and_says_how_to_get_bge() -> None:
    heard = Notes()
    model = resolve_encoder(VectorSettings(), heard)
    assert model is not None
    assert (model.name, model.pooling, model.query_prefix) == (TOOLS_ENCODER, "mean", "")
    assert (model.dim, model.max_length) == (384, 256)
    assert heard.said == [
        "encoder: minilm-tools-v1, which needs no download. For BAAI/bge-small-en-v1.5, --encoder bge or "
        'vectors.encoder = "bge": 134 MB, once'
    ]


def test_auto_stays_with_the_encoder_that_serves_and_asks_no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    heard, plain = Notes(), resolved(PACKAGED)
    assert resolve_encoder(VectorSettings(), heard, plain.spec("int8")) == plain and heard.said == []
    gone = replace(plain, name="BAAI/bge-small-en-v1.5").spec("int8")
    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: pytest.fail("the hub was asked"))
    with pytest.raises(
        RunAborted, match=r"serves has the encoder 'BAAI/bge-small-en-v1.5', which is not in .*takes no other"
    ):
        resolve_encoder(VectorSettings(), heard, gone)


def test_the_packaged_model_and_the_delta_over_it_are_two_encoders() -> None:
    plain, tools = resolved(PACKAGED), resolved(TOOLS_ENCODER)
    assert (plain.folder, plain.delta) == (packaged_folder(), None)
    assert (tools.folder, tools.saved_in) == (packaged_folder(), tools_folder())
    assert plain.revision == "7e5b9adac1909589"  # as ever: vectors and snapshots of it stay what they are
    assert tools.revision != plain.revision


def test_a_folder_is_read_with_its_pooling(encoder_folder: Path) -> None:
    model = resolved(str(encoder_folder))
    assert (model.name, model.pooling, model.dim, model.max_length) == ("small-random", "cls", 32, 64)
    assert resolve_encoder(VectorSettings(encoder="none"), SilentProgress()) is None


def test_a_query_prefix_is_the_settings_then_the_models_own_then_the_known_one_of_bge(tmp_path: Path) -> None:
    folder = save(tmp_path / "bge-base-en-v1.5")
    assert resolved(str(folder)).query_prefix == "Represent this sentence for searching relevant passages: "
    prompts = {"prompts": {"query": "ask: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts), encoding="utf-8")
    assert resolved(str(folder)).query_prefix == "ask: "
    assert resolved(str(folder), query_prefix="").query_prefix == ""


def key(model: EncoderModel, precision: str = "int8") -> str:
    return Export(model.folder, model.spec(precision), {}).key


def prefixes(model: EncoderModel) -> tuple[str, str]:
    return model.query_prefix, model.document_prefix


def test_documents_have_a_prefix_too_where_the_model_is_an_e5_says_so_or_the_settings_do(tmp_path: Path) -> None:
    folder = save(tmp_path / "multilingual-e5-small")
    model = resolved(str(folder))
    bare = resolved(str(folder), document_prefix="")
    assert prefixes(model) == ("query: ", "passage: ") and model.spec("fp32").document_prefix == "passage: "
    assert prefixes(resolved(str(save(tmp_path / "multilingual-e5-large-instruct")))) == ("", "")
    assert prefixes(bare) == ("query: ", "") and key(bare) != key(model)
    other = save(tmp_path / "other")
    prompts = {"prompts": {"query": "", "document": "text: "}}
    (other / "config_sentence_transformers.json").write_text(json.dumps(prompts), encoding="utf-8")
    assert prefixes(resolved(str(other))) == ("", "text: ")


def test_pooling_is_read_from_the_newer_files_too_and_one_that_is_not_supported_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    config = folder / "1_Pooling" / "config.json"
    config.write_text('{"pooling_mode": "max"}', encoding="utf-8")
    assert resolved(str(folder)).pooling == "max"
    config.write_text('{"pooling_mode_weightedmean_tokens": true}', encoding="utf-8")
    with pytest.raises(RunAborted, match="weightedmean"):
        resolved(str(folder))


def test_other_weights_pooling_or_precision_give_another_key_and_another_way_to_export_too(
    encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = shutil.copytree(encoder_folder, tmp_path / "same")
    keys = {key(resolved(str(f))) for f in (encoder_folder, same)}
    assert len(keys) == 1
    others = (save(tmp_path / "reseeded", seed=1), save(tmp_path / "mean", pooling="mean"))
    keys |= {key(resolved(str(f))) for f in others} | {key(resolved(str(same)), "fp32")}
    monkeypatch.setattr("pipeline.encoders.export.cache.EXPORT_VERSION", 999)
    assert len(keys | {key(resolved(str(same)))}) == 5


@pytest.mark.parametrize("name", ["no-such-model", "nobody/no-such-model", "not a name!"])
def test_an_unknown_model_stops_with_the_ways_out(name: str) -> None:
    with pytest.raises(RunAborted, match=f"{name}.*'auto'"):
        resolved(name)


def test_a_folder_that_is_no_encoder_stops(tmp_path: Path) -> None:
    with pytest.raises(RunAborted, match=r"config\.json"):
        resolved(str(tmp_path))
