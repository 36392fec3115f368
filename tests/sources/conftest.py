"""Servers on this machine: one that speaks the protocol of S3, and a plain web server."""

from __future__ import annotations

import json
import logging
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

boto3 = pytest.importorskip("boto3")
server = pytest.importorskip("moto.server")


@dataclass(frozen=True)
class Bucket:
    """A bucket of its own for each test."""

    client: Any
    endpoint: str
    name: str

    def put(self, key: str, content: bytes) -> str:
        """Write an object; return its address."""
        self.client.put_object(Bucket=self.name, Key=key, Body=content)
        return self.at(key)

    def put_folder(self, folder: Path) -> None:
        """Write the files of a folder, under their relative names."""
        for file in folder.rglob("*"):
            if file.is_file():
                self.put(str(file.relative_to(folder)), file.read_bytes())

    def remove(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)

    def at(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    def user(self) -> dict[str, str]:
        """The settings of a user whom the server knows, and who may read everything."""
        iam = boto3.client("iam", "us-east-1", endpoint_url=self.endpoint)
        name = f"user-of-{self.name}"
        iam.create_user(UserName=name)
        rights = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": rights})
        iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=policy)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        }

    def check_credentials(self, check: bool) -> None:
        """Let the server refuse whom it does not know, or nobody."""
        request = urllib.request.Request(
            f"{self.endpoint}/moto-api/reset-auth",
            b"0" if check else b"inf",
            {"Content-Type": "text/plain"},
        )
        urllib.request.urlopen(request).close()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of a server that speaks the protocol of S3."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()
    running._server.server_close()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket, which the environment says how to reach."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL": s3, "AWS_EC2_METADATA_DISABLED": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=s3)
    name = f"bucket-{uuid.uuid4().hex[:12]}"
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    return Bucket(client, s3, name)


@dataclass
class Site:
    """A web server of the files in a folder."""

    folder: Path
    ranges: bool = True
    #: Whether it refuses those who show no password.
    forbids: bool = False
    address: str = ""
    #: The bytes of files that it has sent.
    sent: list[int] = field(default_factory=list)


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, site: Site) -> None:
        self.site = site
        super().__init__(*arguments, directory=str(site.folder))

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        file = Path(self.translate_path(self.path))
        if self.site.forbids and "Authorization" not in self.headers:
            self.send_error(403)
        elif asked is None or not self.site.ranges or not file.is_file():
            super().do_GET()
            self.site.sent.append(file.stat().st_size if file.is_file() else 0)
        else:
            first, last = asked.removeprefix("bytes=").split("-")
            content = file.read_bytes()
            part = content[int(first) : int(last) + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)
            self.site.sent.append(len(part))

    def do_HEAD(self) -> None:
        if self.site.forbids and "Authorization" not in self.headers:
            self.send_error(403)
        else:
            super().do_HEAD()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A web server of the folder ``tmp_path / "site"``."""
    site = Site(tmp_path / "site")
    site.folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, site=site)) as running:
        site.address = f"http://127.0.0.1:{running.server_port}"
        thread = Thread(target=running.serve_forever)
        thread.start()
        yield site
        running.shutdown()
        thread.join()
