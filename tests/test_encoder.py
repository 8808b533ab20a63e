"""`tamis.encoder` on a tiny random model: its promise, its errors, and its manners as a guest."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis import onnx_session
from tamis.encoder import OnnxEncoder, TextTooLongError
from tiny_model import make_tiny_model, write_manifest

SENTENCE = "the harbour master keeps two books and a list of names for use in storms"
TEXTS = [SENTENCE[i % 9 : i % 9 + 5 + 3 * (i % 17)] + f" {i}" for i in range(64)]
LONG = "word " * 200


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "fp32")


@pytest.fixture(scope="session")
def tiny_int8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "int8", quantised=True)


@pytest.fixture(params=["fp32", "int8"])
def folder(request: pytest.FixtureRequest, tiny: Path, tiny_int8: Path) -> Path:
    return tiny if request.param == "fp32" else tiny_int8


def run_python(
    code: str, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter that finds what this one finds."""
    path = os.pathsep.join(p for p in sys.path if p)
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH")}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**keep, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


# --- the promise ------------------------------------------------------------------------------


def test_vectors_are_contiguous_float32_unit_rows(folder: Path) -> None:
    vectors = OnnxEncoder(folder).encode(TEXTS)
    assert vectors.shape == (64, 32)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_gets_the_same_bits_in_any_company(folder: Path) -> None:
    """C052: alone, in batches of 1, 8 and 64, in another order, over any number of threads."""
    with_one = OnnxEncoder(folder, threads=1)
    alone = np.concatenate([with_one.encode([text]) for text in TEXTS])
    order = np.random.default_rng(0).permutation(64)
    for threads in (1, 2, 4):
        encoder = OnnxEncoder(folder, threads=threads)
        for size in (1, 8, 64):
            blocks = [TEXTS[start : start + size] for start in range(0, 64, size)]
            batched = np.concatenate([encoder.encode(block) for block in blocks])
            assert batched.tobytes() == alone.tobytes()
        permuted = encoder.encode([TEXTS[i] for i in order])
        assert permuted.tobytes() == alone[order].tobytes()
    assert with_one.tolerance == 0


def test_in_one_batch_the_quantised_graph_would_break_the_promise(tiny_int8: Path) -> None:
    """Guards the test above: were the graph insensitive to company, it would prove nothing."""
    encoder = OnnxEncoder(tiny_int8)
    session = encoder._open().session
    rows = list(session.tokenise(TEXTS))
    same_length = [row for row in rows if len(row) == len(rows[0])]
    batch = np.stack(same_length)
    feed = {"input_ids": batch, "attention_mask": np.ones_like(batch)}
    together = session._session.run(None, feed)[0]
    alone = np.stack([session.run(row) for row in same_length])
    assert len(same_length) > 1
    assert np.abs(together - alone).max() > 1e-4


def test_the_quantised_graph_is_recognised(tiny: Path, tiny_int8: Path) -> None:
    assert not OnnxEncoder(tiny).dynamically_quantised
    assert OnnxEncoder(tiny_int8).dynamically_quantised


@pytest.mark.parametrize("block", [3, 8, 21, 22, 1 << 20])
def test_an_operator_is_found_across_blocks(tmp_path: Path, block: int) -> None:
    path = tmp_path / "graph"
    path.write_bytes(b"." * 17 + b"DynamicQuantizeLinear" + b"." * 17)
    assert onnx_session._names_any(path, (b"DynamicQuantize", b"QAttention"), block)
    assert not onnx_session._names_any(path, (b"DynamicQuantizer", b"QAttention"), block)


def test_prefixes_are_put_before_texts(tiny: Path, tmp_path: Path) -> None:
    prefixed = OnnxEncoder(make_tiny_model(tmp_path / "prefixed", query_prefix="query: "))
    plain = OnnxEncoder(tiny)
    assert (prefixed.encode(["harbour"], "query") == plain.encode(["query: harbour"])).all()
    assert (prefixed.encode(["harbour"]) == plain.encode(["harbour"])).all()
    assert prefixed.identity["query_prefix"] == "query: "


def test_identity_is_flat_json_and_names_every_field(tiny: Path) -> None:
    identity = dict(OnnxEncoder(tiny).identity)
    assert next(iter(identity)) == "encoder"
    assert set(identity) == {
        *("encoder", "weights", "recipe", "precision", "pooling", "normalise", "query_prefix"),
        *("passage_prefix", "dim", "max_tokens", "vector_dtype", "tokenizer"),
    }
    assert json.loads(json.dumps(identity)) == identity


# --- texts ------------------------------------------------------------------------------------


def test_no_texts_give_no_rows(tiny: Path) -> None:
    vectors = OnnxEncoder(tiny).encode([])
    assert vectors.shape == (0, 32)
    assert vectors.dtype == np.float32


def test_blank_text_has_a_vector(folder: Path) -> None:
    vectors = OnnxEncoder(folder).encode(["", " \n\t", "日本"])
    assert np.isfinite(vectors).all()
    assert (vectors[0] == vectors[1]).all()


def test_a_long_text_is_an_error_with_its_index_and_length(tiny: Path) -> None:
    with pytest.raises(TextTooLongError, match=r"texts\[1\] has 402 tokens, the model reads 64"):
        OnnxEncoder(tiny).encode(["short", LONG])
    with pytest.raises(ValueError, match="2 texts are too long") as caught:
        OnnxEncoder(tiny).encode([LONG, "short", LONG])
    assert isinstance(caught.value, TextTooLongError)
    assert (caught.value.index, caught.value.n_tokens, caught.value.max_tokens) == (0, 402, 64)


def test_no_text_is_run_before_a_long_one_is_found(tiny: Path) -> None:
    done: list[int] = []
    with pytest.raises(TextTooLongError):
        OnnxEncoder(tiny).encode([*TEXTS, LONG], progress=done.append)
    assert done == []


def test_a_text_of_just_the_limit_passes(tiny: Path) -> None:
    assert OnnxEncoder(tiny).encode_counted(["a " * 62]).truncated == ()
    with pytest.raises(TextTooLongError, match="has 65 tokens"):
        OnnxEncoder(tiny).encode(["a " * 63])


def test_truncation_is_counted_and_cuts_as_the_tokenizer_would(tiny: Path) -> None:
    encoder = OnnxEncoder(tiny, on_long="truncate")
    encoded = encoder.encode_counted(["short", LONG, "also short", "names " * 100])
    assert encoded.truncated == (1, 3)
    assert encoded.vectors.shape == (4, 32)
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    reference.no_padding()
    reference.enable_truncation(max_length=64)
    session = encoder._open().session
    expected = session.run(np.array(reference.encode(LONG).ids, np.int64))
    assert (encoded.vectors[1] == expected).all()
    assert (encoder.encode([LONG])[0] == expected).all()


def test_the_tokenizers_own_truncation_and_padding_are_off(tiny: Path) -> None:
    """The tiny tokenizer's file, like MiniLM's, cuts long texts and pads short ones."""
    session = OnnxEncoder(tiny)._open().session
    lengths = [len(ids) for ids in session.tokenise(["a", "a " * 40])]
    assert lengths == [3, 42]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("one str", TypeError, "got one str"),
        (["fine", 3], TypeError, r"texts\[1\] must be str, got int"),
        (["fine", None], TypeError, r"texts\[1\] must be str, got NoneType"),
        (["fine", b"bytes"], TypeError, r"texts\[1\] must be str, got bytes"),
        (["fine", "a\ud800"], ValueError, r"texts\[1\] holds a lone surrogate at position 1"),
    ],
)
def test_bad_texts_are_named(tiny: Path, texts: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        OnnxEncoder(tiny).encode(texts)


@pytest.mark.parametrize(
    "options",
    [{"threads": 0}, {"threads": True}, {"threads": 1.5}, {"on_long": "cut"}, {"providers": ()}],
)
def test_bad_options_are_refused(tiny: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        OnnxEncoder(tiny, **options)


def test_bad_kind_is_refused(tiny: Path) -> None:
    with pytest.raises(ValueError, match='kind must be "query" or "passage"'):
        OnnxEncoder(tiny).encode(["a"], "document")  # type: ignore[arg-type]


def test_progress_counts_texts(folder: Path) -> None:
    for threads in (1, 3):
        done: list[int] = []
        OnnxEncoder(folder, threads=threads).encode(TEXTS, progress=done.append)
        assert done == list(range(1, 65))


# --- models that cannot be used ----------------------------------------------------------------


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF\x02\x01\x01", b"not a model\n" * 1000, bytes(100_000), None]
)
def test_a_file_that_is_no_model_is_a_quick_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], file: str, content: bytes | None
) -> None:
    """C116: within ten seconds and naming the path, whatever its manifest says; no noise."""
    folder = make_tiny_model(tmp_path / "model")
    good = (folder / file).read_bytes()
    (folder / file).write_bytes(good[: len(good) // 2] if content is None else content)
    capfd.readouterr()
    begin = time.monotonic()
    with pytest.raises(ValueError, match=f"{folder / file} is not the file"):
        OnnxEncoder(folder).warmup()
    write_manifest(folder, json.loads((folder / "manifest.json").read_text()))
    with pytest.raises(ValueError, match=f"{folder / file} cannot be opened as"):
        OnnxEncoder(folder).warmup()
    assert time.monotonic() - begin < 10
    assert capfd.readouterr() == ("", "")


def test_a_graph_that_does_not_fit_its_manifest_is_named(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    fields = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, fields | {"dim": 16})
    with pytest.raises(ValueError, match=r"must give float32 \[b, 16\] first, and gives .*32"):
        OnnxEncoder(folder).warmup()


def test_a_failure_in_the_graph_names_the_text(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", table_rows=len("[PAD]"))
    for threads in (1, 2):
        with pytest.raises(RuntimeError, match=r"failed on texts\[1\] \(3 tokens\)"):
            OnnxEncoder(folder, threads=threads).encode(["", "a", ""])


def test_a_provider_that_is_not_there_is_an_error(tiny: Path) -> None:
    with pytest.raises(RuntimeError, match="has no NoSuchExecutionProvider, only"):
        OnnxEncoder(tiny, providers=["NoSuchExecutionProvider"]).warmup()


def test_a_silent_fallback_is_an_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with CUDA on a machine without a GPU: listed, asked for, and replaced by the CPU."""
    import onnxruntime

    session = onnxruntime.InferenceSession
    listed = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: listed)
    monkeypatch.setattr(
        onnxruntime,
        "InferenceSession",
        lambda path, options, providers: session(path, options, providers=listed[1:]),
    )
    with pytest.raises(RuntimeError, match="fell back to CPUExecutionProvider"):
        OnnxEncoder(tiny, providers=listed).warmup()


def test_the_broken_runtime_is_refused(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    with monkeypatch.context() as patch:
        patch.setattr(onnxruntime, "__version__", "1.29.0")
        with pytest.raises(RuntimeError, match=r"onnxruntime 1\.29\.0 can crash"):
            OnnxEncoder(tiny).warmup()
    # Before it is imported, because the import is what crashes.
    monkeypatch.delitem(sys.modules, "onnxruntime")
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "1")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.29.0")
    with pytest.raises(RuntimeError, match=r"onnxruntime!=1\.29\.0"):
        OnnxEncoder(tiny).warmup()
    assert "onnxruntime" not in sys.modules


def test_a_missing_runtime_says_what_to_install(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("onnxruntime", "tokenizers"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(ImportError, match=rf"needs {package} \(pip install 'tamis\[onnx"):
                OnnxEncoder(tiny).warmup()


# --- manners ----------------------------------------------------------------------------------

LAZY = """
import os, sys, threading
before = dict(os.environ)
from tamis.encoder import OnnxEncoder
encoder = OnnxEncoder(sys.argv[1], threads=2)
assert encoder.dim == 32 and encoder.identity["recipe"] == "tiny-1"
assert "onnxruntime" not in sys.modules and "tokenizers" not in sys.modules
assert dict(os.environ) == before and threading.active_count() == 1
encoder.warmup()
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_nothing_is_loaded_before_first_use(tiny: Path, tmp_path: Path) -> None:
    result = run_python(LAZY, tiny)
    assert (result.stdout, result.stderr) == ("1\n", "")
    # A host's own choice stands. What the runtime then writes stays in a folder of the test's.
    own = run_python(LAZY, tiny, ORT_DISABLE_TELEMETRY="0", HOME=str(tmp_path))
    assert own.stdout == "0\n"


OFFLINE = """
import sys
calls = []
sys.addaudithook(lambda event, args: calls.append(event) if event.startswith("socket.") else None)
from tamis.encoder import OnnxEncoder
print(OnnxEncoder(sys.argv[1], threads=2).encode(["harbour", "storm"]).shape, calls)
"""


def test_no_network_and_no_home_are_needed(folder: Path) -> None:
    """C117: a local path works, and nothing asks for a socket."""
    result = run_python(OFFLINE, folder)
    assert (result.stdout, result.stderr) == ("(2, 32) []\n", "")


FORK = """
import os, sys
from tamis.encoder import OnnxEncoder
encoder = OnnxEncoder(sys.argv[1], threads=2)
texts = [f"harbour {i}" for i in range(20)]
expected = encoder.encode(texts)
encoder._lock.acquire()  # as another thread of the parent might hold it
inherited = encoder._handles
child = os.fork()
if child == 0:
    assert encoder._handles is None
    assert (encoder.encode(texts) == expected).all()
    assert encoder._handles.session is not inherited.session
    del inherited, encoder
    sys.exit(0)  # with interpreter shutdown, where an inherited session would be destroyed
encoder._lock.release()
assert os.waitpid(child, 0)[1] == 0
assert encoder._handles is inherited
assert (encoder.encode(texts) == expected).all()
print("ok")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_opens_its_own_session(folder: Path) -> None:
    result = run_python(FORK, folder, PYTHONWARNINGS="ignore", TOKENIZERS_PARALLELISM="false")
    assert (result.stdout, result.stderr) == ("ok\n", "")


INTERRUPT = """
import sys
from tamis.encoder import OnnxEncoder
encoder = OnnxEncoder(sys.argv[1], threads=int(sys.argv[2]))
texts = ["harbour master " * 6] * 20_000
try:
    encoder.encode(texts, progress=lambda done: done == 10 and print("go", flush=True))
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_encode(tiny: Path, threads: int) -> None:
    import signal

    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-c", INTERRUPT, str(tiny), str(threads)]
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "stopped\n"
        assert process.wait(10) == 0
        assert time.monotonic() - begin < 3  # about a second, on a busy machine too


def test_an_exception_from_progress_stops_the_workers(tiny: Path) -> None:
    class StopError(Exception):
        pass

    def stop(done: int) -> None:
        if done == 3:
            raise StopError

    encoder = OnnxEncoder(tiny, threads=2)
    with pytest.raises(StopError):
        encoder.encode(TEXTS * 10, progress=stop)
    assert encoder.encode(TEXTS).shape == (64, 32)


def test_many_threads_share_one_session(folder: Path) -> None:
    encoder = OnnxEncoder(folder, threads=2)
    expected = OnnxEncoder(folder, threads=1).encode(TEXTS)
    barrier = threading.Barrier(8)

    def use(_: int) -> tuple[Any, bool]:
        barrier.wait()
        same = (encoder.encode(TEXTS) == expected).all()
        return encoder._handles, bool(same)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(use, range(8)))
    assert all(same for _, same in results)
    assert len({id(handles) for handles, _ in results}) == 1


def test_pickling_carries_the_configuration(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny.parent)
    encoder = OnnxEncoder(Path(tiny.name), threads=3, on_long="truncate")
    expected = encoder.encode([LONG, *TEXTS])
    monkeypatch.chdir("/")
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy._handles is None
    assert copy.threads == 3
    assert dict(copy.identity) == dict(encoder.identity)
    assert (copy.encode([LONG, *TEXTS]) == expected).all()


def test_close_lets_go_and_the_next_use_opens_again(tiny: Path) -> None:
    encoder = OnnxEncoder(tiny, threads=2)
    encoder.close()
    first = encoder.encode(TEXTS)
    encoder.close()
    encoder.close()
    deadline = time.monotonic() + 5
    while any(t.name.startswith("tamis-encoder") for t in threading.enumerate()):
        assert time.monotonic() < deadline, "worker threads outlive close()"
        time.sleep(0.01)
    assert (encoder.encode(TEXTS) == first).all()


def test_environment_names_runtime_and_provider(tiny: Path) -> None:
    environment = OnnxEncoder(tiny).environment
    assert environment["provider"] == "CPUExecutionProvider"
    assert str(environment["runtime"]).startswith("onnxruntime 1.")
