"""The cache: keys, both tables, several processes, kill -9, damaged and unwritable files."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.evidence.cache import Cache, cache_folder, content_key


@pytest.fixture
def cache(tmp_path):
    with_cache = Cache(tmp_path / "cache")
    yield with_cache
    with_cache.close()


def test_a_folder_that_no_file_system_can_name():
    with pytest.raises(InputError, match=r"'a\\x00b' holds a NUL"):
        Cache("a\0b")


# -- keys ----------------------------------------------------------------------------------------------------


def test_key_is_the_sha256_of_the_canonical_json():
    # sha256 of ["a",1]
    assert content_key("a", 1) == "135f17a475a61afdeeaf3759ad2e45ad1c7abb192395abe47e41fc8e395dc1a9"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", "b"), (["a", "b"],)),
        (("1",), (1,)),
        ((1,), (1.0,)),
        ((1,), (True,)),
        ((None,), ("null",)),
        (("",), ()),
        (("支持",), ("不支持",)),
        ((float("nan"),), ("NaN",)),
        (("é",), ("e\u0301",)),
    ],
)
def test_different_parts_have_different_keys(one, other):
    assert content_key(*one) != content_key(*other)


def test_order_of_dictionary_keys_and_kind_of_sequence_do_not_matter():
    assert content_key({"a": 1, "b": (1, 2)}) == content_key({"b": [1, 2], "a": 1})


@pytest.mark.parametrize("part", [{1: "a"}, [{"x": {None: 1}}], object(), b"bytes", {1, 2}])
def test_parts_that_json_would_blur_are_refused(part):
    with pytest.raises(TypeError):
        content_key(part)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(_json, _json)
def test_keys_are_equal_only_for_equal_content(one, other):
    assert len(content_key(one)) == 64
    assert (content_key(one) == content_key(other)) == (repr(_typed(one)) == repr(_typed(other)))


def _typed(value):
    if isinstance(value, dict):
        return sorted((key, repr(_typed(item))) for key, item in value.items()), "dict"
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return (type(value).__name__, value)


# -- folder --------------------------------------------------------------------------------------------------


def test_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    assert Cache().path == tmp_path / "mine" / "cache.sqlite"
    monkeypatch.delenv("WORKBENCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    if sys.platform.startswith("linux"):
        assert cache_folder() == tmp_path / "user" / "rag-workbench"


def test_nothing_is_written_before_the_first_use(tmp_path):
    Cache(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_folder_and_files_are_private(cache):
    cache.put("judge", "k", "{}")
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in cache.folder.iterdir()} == {0o600}


# -- documents and vectors -----------------------------------------------------------------------------------


def test_documents_come_back_by_namespace(cache):
    cache.put_many("judge", {"a": '{"问": "答"}', "b": "[]"})
    cache.put("other", "a", "1")
    assert cache.get_many("judge", ["a", "b", "c", "a"]) == {"a": '{"问": "答"}', "b": "[]"}
    assert cache.get("other", "a") == "1"
    assert cache.get("judge", "c") is None
    assert (cache.count("judge"), cache.count("other"), cache.count("none")) == (2, 1, 0)


def test_a_later_document_replaces_the_earlier(cache):
    cache.put("judge", "a", "1")
    cache.put("judge", "a", "2")
    assert cache.get("judge", "a") == "2"


def test_clear_forgets_one_namespace(cache):
    cache.put("judge", "a", "1")
    cache.put("other", "a", "2")
    cache.clear("judge")
    assert cache.get("judge", "a") is None
    assert cache.get("other", "a") == "2"


def test_vectors_come_back_bit_by_bit(cache):
    row = np.array([1.0, -0.1, np.float32(1e-30), 3.5], dtype=np.float32)
    cache.put_vectors("v", {"a": row, "b": row.astype(np.float64)[::-1]})
    found = cache.get_vectors("v", ["a", "b", "c"])
    assert set(found) == {"a", "b"}
    assert found["a"].dtype == np.float32
    assert found["a"].tobytes() == row.tobytes()
    assert found["b"].tolist() == row[::-1].tolist()


def test_more_keys_than_sqlite_takes_in_one_statement(cache):
    documents = {f"key{i}": str(i) for i in range(40_000)}
    cache.put_many("judge", documents)
    assert cache.get_many("judge", documents) == documents


def test_the_file_is_readable_without_us(cache):
    cache.put_vectors("v", {"a": np.array([1, 2], dtype=np.float32)})
    cache.put("judge", "k", '{"x": 1}')
    with sqlite3.connect(cache.path) as plain:
        assert plain.execute("SELECT value FROM documents").fetchall() == [('{"x": 1}',)]
        assert np.frombuffer(plain.execute("SELECT value FROM vectors").fetchone()[0], "<f4").tolist() == [1.0, 2.0]


def test_a_cut_off_vector_is_missing_not_wrong(cache, caplog):
    cache.put_vectors("v", {"a": np.ones(4, dtype=np.float32)})
    with sqlite3.connect(cache.path) as plain:
        plain.execute("UPDATE vectors SET value = x'000000'")
    with caplog.at_level(logging.WARNING):
        assert cache.get_vectors("v", ["a"]) == {}
    assert "damaged" in caplog.text


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(min_size=1).filter(lambda s: s.isprintable()), st.text().filter(str.isprintable)))
def test_what_goes_in_comes_out(tmp_path_factory, documents):
    cache = Cache(tmp_path_factory.mktemp("cache"))
    cache.put_many("judge", documents)
    assert cache.get_many("judge", documents) == documents
    cache.close()


# -- several at once -----------------------------------------------------------------------------------------


def _fill(folder: str, worker: int) -> None:
    cache = Cache(folder)
    for batch in range(20):
        cache.put_many("judge", {f"{worker}-{batch}-{i}": str(i) for i in range(20)})
        cache.get_many("judge", [f"{other}-{batch}-0" for other in range(4)])


def test_four_processes_write_at_once_and_nothing_is_lost(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_fill, args=(str(tmp_path / "cache"), n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    assert Cache(tmp_path / "cache").count("judge") == 4 * 20 * 20


def test_a_second_cache_of_a_process_does_not_give_up_the_locks_of_the_first(cache):
    # The last one of another process to close removes the -wal, if no other holds a lock.
    cache.put("x", "before", "1")
    second = Cache(cache.folder)
    assert second.get("x", "before") == "1"
    elsewhere = "import sys; from workbench.evidence.cache import Cache; c = Cache(sys.argv[1]); {}; c.close()"

    def there(statement: str) -> str:
        """What another process prints that opens the cache and closes it."""
        command = [sys.executable, "-c", elsewhere.format(statement), str(cache.folder)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    there("c.put('x', 'other', '1')")
    cache.put("x", "after", "1")
    assert there("print(len(c.get_many('x', ['before', 'other', 'after'])))").strip() == "3"


def test_threads_have_connections_of_their_own(cache):
    errors: list[Exception] = []

    def work(worker: int) -> None:
        try:
            _fill(str(cache.folder), worker)
            cache.put("shared", str(worker), str(worker))
        except sqlite3.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert cache.count("judge") == 6 * 20 * 20
    assert cache.get_many("shared", map(str, range(6))) == {str(n): str(n) for n in range(6)}


def test_a_forked_process_does_not_share_our_connection(cache):
    cache.put("judge", "before", "1")
    child = multiprocessing.get_context("fork").Process(target=cache.put, args=("judge", "child", "2"))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert cache.get_many("judge", ["before", "child"]) == {"before": "1", "child": "2"}


def test_a_cache_travels_to_another_process_as_its_path(cache):
    cache.put("judge", "a", "1")
    assert pickle.loads(pickle.dumps(cache)).get("judge", "a") == "1"  # noqa: S301


def test_committed_batches_survive_kill_9(tmp_path):
    script = textwrap.dedent(
        """
        import sys
        from workbench.evidence.cache import Cache
        cache = Cache(sys.argv[1])
        batch = 0
        while True:
            cache.put_many("judge", {f"{batch}-{i}": "x" * 200 for i in range(50)})
            print(batch, flush=True)
            batch += 1
        """
    )
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "cache")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(5)]
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.readlines()
    process.wait()
    announced = int([line for line in lines if line.endswith("\n")][-1])
    cache = Cache(tmp_path / "cache")
    found = cache.get_many("judge", [f"{b}-{i}" for b in range(announced + 1) for i in range(50)])
    assert len(found) == 50 * (announced + 1)
    assert cache.count("judge") % 50 == 0  # a batch is there as a whole or not at all


# -- damage --------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_set_aside(tmp_path, caplog):
    (tmp_path / "cache.sqlite").write_bytes(b"this is no database" * 500)
    cache = Cache(tmp_path)
    with caplog.at_level(logging.WARNING):
        cache.put("judge", "a", "1")
    assert cache.get("judge", "a") == "1"
    assert not cache.in_memory
    aside = list(tmp_path.glob("cache.sqlite.damaged-*"))
    assert len(aside) == 1
    assert aside[0].read_bytes().startswith(b"this is no database")
    assert "is damaged" in caplog.text


def test_a_file_damaged_inside_is_set_aside(tmp_path, caplog):
    cache = Cache(tmp_path)
    cache.put_many("judge", {f"k{i}": "x" * 500 for i in range(500)})
    cache.close()
    size = cache.path.stat().st_size
    with cache.path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    with caplog.at_level(logging.WARNING):
        cache.get_many("judge", [f"k{i}" for i in range(500)])
        cache.put("judge", "new", "1")
    assert cache.get("judge", "new") == "1"
    assert "is damaged" in caplog.text
    assert len(list(tmp_path.glob("*.damaged-*"))) >= 1


def test_several_processes_that_meet_a_damaged_file_set_it_aside_once(tmp_path):
    (tmp_path / "cache.sqlite").write_bytes(b"this is no database" * 500)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_fill, args=(str(tmp_path), n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    aside = [path for path in tmp_path.glob("*.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    assert len(aside) == 1


def test_a_folder_removed_while_in_use_is_made_again(cache):
    cache.put("judge", "a", "1")
    for path in list(cache.folder.iterdir()):
        path.unlink()
    cache.folder.rmdir()
    cache.put("judge", "b", "2")
    assert cache.get_many("judge", ["a", "b"]) == {"b": "2"}
    assert not cache.in_memory


def test_where_nothing_can_be_written_it_works_in_memory_and_says_so(tmp_path, caplog):
    (tmp_path / "file").write_text("no folder")
    cache = Cache(tmp_path / "file" / "cache")
    with caplog.at_level(logging.WARNING):
        cache.put("judge", "a", "1")
        cache.put_vectors("v", {"a": np.ones(2, dtype=np.float32)})
    assert cache.in_memory
    assert cache.get("judge", "a") == "1"
    assert cache.get_vectors("v", ["a"])["a"].tolist() == [1.0, 1.0]
    assert caplog.text.count("kept in memory only") == 1


def test_an_error_that_is_neither_is_raised(cache):
    cache.put("judge", "a", "1")
    with pytest.raises(sqlite3.IntegrityError):
        cache.put("judge", "b", None)


def test_fifty_thousand_vectors_are_read_in_seconds(cache):
    rows = np.zeros((50_000, 64), dtype=np.float32)
    cache.put_vectors("v", {str(i): row for i, row in enumerate(rows)})
    start = time.perf_counter()
    assert len(cache.get_vectors("v", map(str, range(50_000)))) == 50_000
    assert time.perf_counter() - start < 10
