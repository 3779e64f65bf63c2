"""`jupyter lab derivations` and `pytest --nbval`, as a reader would type them in this environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import websocket

ROOT = Path(__file__).parents[2]
NOTEBOOK = "03_effective_size.ipynb"
SECONDS = 120  # for a server, a kernel or a cell, on a busy machine


@dataclass(frozen=True)
class Server:
    """A running server as a browser sees it."""

    port: int
    token: str

    def ask(self, place: str, data: dict[str, Any] | None = None) -> bytes:
        """The answer to GET, or to POST of some data."""
        words = ("GET", f"/{place}") if data is None else ("POST", f"/{place}", json.dumps(data))
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)) as connection:
            connection.request(*words, headers={"Authorization": f"token {self.token}"})
            return connection.getresponse().read()

    def channels(self, kernel: str) -> websocket.WebSocket:
        """The road to a kernel."""
        address = f"ws://127.0.0.1:{self.port}/api/kernels/{kernel}/channels"
        return websocket.create_connection(address, SECONDS, header={"Authorization": f"token {self.token}"})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The server of a user whose own kernel `python3` belongs to an environment that is gone."""
    kernel = tmp_path / "data" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    elsewhere = {"argv": [str(tmp_path / "gone"), "{connection_file}"], "display_name": "gone", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(elsewhere))
    places = {f"JUPYTER_{place.upper()}_DIR": str(tmp_path / place) for place in ("data", "config", "runtime")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER_", "PYTHON"))}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                Path(sys.executable).with_name("jupyter"),
                "lab",
                "derivations",
                "--no-browser",
                "--allow-root",
                "--port=0",
            ],
            cwd=ROOT,
            env=kept | places | {"JUPYTER_PLATFORM_DIRS": "1"},
            stdout=log,
            stderr=log,
        )
    try:
        deadline, file = time.monotonic() + SECONDS, tmp_path / "runtime" / f"jpserver-{process.pid}.json"
        while not (file.exists() and (text := file.read_text()).endswith("}")):
            assert process.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()
            time.sleep(0.05)
        about = json.loads(text)
        yield Server(about["port"], about["token"])
    finally:
        process.terminate()
        process.wait(SECONDS)


def run(channels: websocket.WebSocket, code: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Have a kernel execute some code: its reply, and what it shows."""
    header = {"msg_id": uuid4().hex, "msg_type": "execute_request", "session": "", "username": "", "version": "5.3"}
    content = {"code": code, "silent": False, "user_expressions": {"prefix": "__import__('sys').prefix"}}
    message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
    channels.send(json.dumps(message))
    reply, shown, busy = {}, [], True
    while busy or not reply:
        heard = json.loads(channels.recv())
        if heard["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        if heard["msg_type"] == "execute_reply":
            reply = heard["content"]
        busy = busy and heard["content"].get("execution_state") != "idle"
        shown.append(heard["content"].get("data", {}))
    return reply, shown


def test_a_derivation_opens_and_runs_in_jupyterlab(server: Server) -> None:
    """The page comes, the notebook is there, and every cell runs on the kernel of this very environment."""
    assert b"JupyterLab" in server.ask(f"lab/tree/{NOTEBOOK}")
    notebook = json.loads(server.ask(f"api/contents/{NOTEBOOK}"))["content"]
    wanted = {"name": notebook["metadata"]["kernelspec"]["name"]}
    session = {"path": NOTEBOOK, "name": NOTEBOOK, "type": "notebook", "kernel": wanted}
    kernel = json.loads(server.ask("api/sessions", session))["kernel"]["id"]
    kinds: set[str] = set()
    with closing(server.channels(kernel)) as channels:
        for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            reply, shown = run(channels, cell["source"])
            assert reply["status"] == "ok", reply
            assert reply["user_expressions"]["prefix"]["data"]["text/plain"] == repr(sys.prefix)
            expected = [output["data"].keys() for output in cell["outputs"] if "data" in output]
            assert [data.keys() for data in shown if data] == expected
            kinds |= {kind for data in shown for kind in data}
    assert "text/markdown" in kinds  # formulas have been shown


def test_nbval_runs_a_derivation() -> None:
    command = [sys.executable, "-m", "pytest", "--nbval", f"derivations/{NOTEBOOK}", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
