"""The example service over real loopback HTTP, on a free port."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tamis

ROOT = Path(tamis.__file__).resolve().parents[2]
# Of the variables that the example reads, none is inherited.
_VARIABLES = ("TAMIS_CALIBRATION", "TAMIS_ALPHA", "TAMIS_SCORER", "TAMIS_CHUNKER")


@contextmanager
def process(**variables: str) -> Iterator[str]:
    """Run the example as its documentation says; gives the address, stops it at the end."""
    inherited = {k: v for k, v in os.environ.items() if k not in _VARIABLES}
    command = [sys.executable, "-m", "uvicorn", "examples.fastapi_app:app", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--no-access-log"],
        cwd=ROOT,
        env=inherited | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    said = []
    rest: threading.Thread | None = None
    try:
        for line in server.stderr:
            said.append(line)
            if found := re.search(r"running on (http://\S+:\d+)", line):
                break
        else:
            raise RuntimeError("the service did not start:\n" + "".join(said))
        # Read on, so that the service never waits for somebody to read.
        rest = threading.Thread(target=server.stderr.read)
        rest.start()
        yield found[1]
    finally:
        server.terminate()
        server.wait(timeout=30)
        if rest is not None:
            rest.join()
        server.stderr.close()


@contextmanager
def thread(app: Any) -> Iterator[str]:
    """Serve an app of this process from a thread of its own."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
    runner = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    runner.start()
    try:
        # What connects before it accepts waits in the socket's queue.
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        runner.join(timeout=30)
        listening.close()
    assert not runner.is_alive()
