"""The committed schema is what protoc makes of proto/*.proto."""
import base64
import importlib.util
import pathlib
import shutil

import pytest
from google.protobuf import descriptor_pb2

from tactus import _schema

PACKAGE_ROOT = pathlib.Path(__file__).resolve().parent.parent


def descriptors(serialized):
    files = descriptor_pb2.FileDescriptorSet.FromString(serialized)
    return {file.name: file for file in files.file}


@pytest.mark.skipif(shutil.which("protoc") is None, reason="protoc is not installed: cannot compare the schema with proto/*.proto")
def test_schema_equals_proto():
    spec = importlib.util.spec_from_file_location("make_schema", PACKAGE_ROOT / "make_schema.py")
    make_schema = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_schema)
    committed = descriptors(base64.b64decode(_schema.DESCRIPTOR_SET_BASE64))
    assert committed == descriptors(make_schema.compile_descriptor_set()), "run clients/python/make_schema.py"
