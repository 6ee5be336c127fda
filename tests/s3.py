"""An S3 server on loopback, for tests that need a real object store's behaviour. Started once, when first asked for."""

import os
import uuid

import pytest

_FAKE_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="session")
def s3_endpoint():
    """URL of the server."""
    pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    saved = {name: os.environ.get(name) for name in _FAKE_CREDENTIALS}
    os.environ.update(_FAKE_CREDENTIALS)  # workers that the tests start inherit them
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture(scope="session")
def s3_options(s3_endpoint):
    """Storage options that lead to the server; plain JSON values."""
    return {"key": "test", "secret": "test", "endpoint_url": s3_endpoint}


@pytest.fixture
def s3_root(s3_options):
    """URI of a fresh bucket."""
    import s3fs

    bucket = f"bucket-{uuid.uuid4().hex}"
    s3fs.S3FileSystem(**s3_options, use_listings_cache=False).mkdir(bucket)
    return f"s3://{bucket}"
