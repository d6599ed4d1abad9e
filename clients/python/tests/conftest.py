"""The package from the checkout, and a server in the same process."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import tactus  # noqa: E402
from fake_server import FakeServer  # noqa: E402


@pytest.fixture
def server():
    with FakeServer() as fake:
        yield fake


@pytest.fixture
def client(server):
    with tactus.connect("127.0.0.1", server.port) as connected:
        yield connected
