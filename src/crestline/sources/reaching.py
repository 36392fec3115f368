"""Reach a store: its file system, credentials from the environment, and why it did not answer.

The libraries of the stores read most of the environment themselves. Arrow's S3 reads the keys, the
profile, web identities and the role of the machine. What it does not read is supplied here: the
endpoint, the region of a bucket, certificates, and the keys of Azure. Timeouts are such that a
store that does not answer is given up within some 20 seconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from crestline.core.errors import UnreachableError


class Files(Protocol):
    """What is used of a ``pyarrow.fs.FileSystem``."""

    def get_file_info(self, path_or_selector: Any, /) -> Any: ...

    def open_input_file(self, path: str, /) -> Any: ...

    def open_input_stream(self, path: str, /, compression: None) -> Any: ...


#: The kinds of stores, by the beginning of their addresses.
_KINDS = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs",
    "hdfs": "hdfs", "viewfs": "hdfs", "http": "http", "https": "http",
}  # fmt: skip
#: Where the credentials for a kind come from.
_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may"
    " read it",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the key file of an account that may read it, or"
    " write gs://anonymous@bucket/... for a public bucket",
    "abfs": "set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID"
    " and AZURE_CLIENT_SECRET, to an account that may read it",
    "hdfs": "log in with kinit, or set HADOOP_USER_NAME to a user who may read it",
    "http": "put the user and the password of the host into ~/.netrc",
}
#: What decides where a kind of store is looked for.
_WHERE = {
    "s3": "the network, AWS_ENDPOINT_URL and AWS_REGION",
    "gs": "the network and STORAGE_EMULATOR_HOST",
    "abfs": "the network and the name of the account",
    "hdfs": "the network, and the name and port of the namenode",
    "http": "the network and the name of the host",
}
_ENVIRONMENT = ("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR_", "HADOOP_")
#: Credentials where other tools take them: behind a question mark.
_SECRETS = re.compile(r"[?&][\w-]*(key|token|secret|password|sig|signature)=", re.IGNORECASE)
_CONNECT_SECONDS, _RETRY_SECONDS = 3, 8


def settings() -> tuple[tuple[str, str], ...]:
    """The settings of the environment that decide how stores are reached."""
    return tuple(item for item in os.environ.items() if item[0].startswith(_ENVIRONMENT))


# -- addresses ------------------------------------------------------------------------------------


def check_address(scheme: str, authority: str, key: str) -> None:
    """Raise UnreachableError for an unknown scheme, and for credentials, which are not repeated."""
    kind = _KINDS.get(scheme.lower())
    if kind is None:
        known = ", ".join(f"{name}://" for name in ("file", *_KINDS))
        raise UnreachableError(
            f"{scheme}:// is not read: give a path on this disk or one of {known}"
        )
    user, at, host = authority.rpartition("@")
    _, colon, port = host.partition(":")
    # A secret may hold a slash, and then the host seems to end in the middle of it.
    odd_port = bool(colon) and (kind in ("s3", "gs", "abfs") or not port.isdecimal())
    meant = kind in ("abfs", "hdfs") or (kind == "gs" and user == "anonymous")
    if odd_port or ":" in user or (at and not meant) or re.search(_SECRETS, key):
        raise UnreachableError(
            f"an address must not hold credentials, as this one of {scheme.lower()}:// seems to:"
            f" take them out and {_CREDENTIALS[kind]}"
        )
    if not host and kind != "hdfs":
        raise UnreachableError(
            f"an address of {scheme}:// must name a bucket or host: write {scheme}://name/..."
        )
    if kind == "http" and re.search(r"[?*[]", key):
        raise UnreachableError(
            f"{scheme}://{host} is a web server, of which only files are read: leave out wildcards,"
            " and what follows a question mark, which may hold credentials"
        )


def connect(scheme: str, authority: str) -> tuple[Files, str]:
    """The file system of a store, and how its names of files begin."""
    kind = _KINDS[scheme]
    if kind == "http":
        from crestline.sources.web import Web

        return Web(), f"{scheme}://{authority}/"
    import pyarrow.fs

    user, _, host = authority.rpartition("@")
    if kind == "hdfs":
        return _hadoop(pyarrow.fs, scheme, user, host), "/"
    if kind == "abfs":
        if "." in host and not user:
            return _azure(pyarrow.fs, host), ""
        return _azure(pyarrow.fs, host), f"{user or host}/"
    if kind == "gs":
        endpoint = _endpoint("STORAGE_EMULATOR_HOST")
        patience = timedelta(seconds=_RETRY_SECONDS)
        files = pyarrow.fs.GcsFileSystem(
            anonymous=user == "anonymous", retry_time_limit=patience, **endpoint
        )
        return files, f"{host}/"
    return _s3(pyarrow.fs, host), f"{host}/"


def _s3(fs: Any, bucket: str) -> Files:
    endpoint = _endpoint("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region and not endpoint and "AWS_PROFILE" not in os.environ:
        try:
            region = fs.resolve_s3_region(bucket)
        except OSError:  # the first request will say why
            region = None
    files: Files = fs.S3FileSystem(
        region=region,
        connect_timeout=_CONNECT_SECONDS,
        tls_ca_file_path=os.environ.get("AWS_CA_BUNDLE"),
        **endpoint,
    )
    return files


def _azure(fs: Any, host: str) -> Files:
    """The account, in which a container is a folder. The host names it, or the environment."""
    account, dot, _ = host.partition(".")
    if not dot:
        account = os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    if not account:
        raise UnreachableError(
            f"abfs://{host} names no account: set AZURE_STORAGE_ACCOUNT, or write"
            f" abfs://{host}@account.dfs.core.windows.net/..."
        )
    key, token = (os.environ.get(f"AZURE_STORAGE_{name}") for name in ("KEY", "SAS_TOKEN"))
    files: Files = fs.AzureFileSystem(
        account, account_key=key or None, sas_token=None if key else token or None
    )
    return files


def _hadoop(fs: Any, scheme: str, user: str, host: str) -> Files:
    name, _, port = host.partition(":")
    brief = {
        "ipc.client.connect.timeout": f"{_CONNECT_SECONDS * 1000}",
        "ipc.client.connect.max.retries": "1",
        "ipc.client.connect.max.retries.on.timeouts": "1",
    }
    where = f"{scheme}://{name}" if scheme == "viewfs" else name or "default"
    files: Files = fs.HadoopFileSystem(where, int(port or 0), user=user or None, extra_conf=brief)
    return files


def _endpoint(*variables: str) -> dict[str, str]:
    """The arguments for an endpoint that the environment names, if it does."""
    if os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        variables = tuple(name for name in variables if not name.startswith("AWS_"))
    named = next((name for name in variables if os.environ.get(name)), None)
    if named is None:
        return {}
    scheme, marked, host = os.environ[named].strip().rpartition("://")
    if "@" in host:
        raise UnreachableError(f"{named} must not hold credentials: name a host and a port only")
    usual = "https" if named.startswith("AWS_") else "http"
    return {"scheme": scheme if marked else usual, "endpoint_override": host.rstrip("/")}


# -- failures -------------------------------------------------------------------------------------

_DENIED = (
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|EXPIRED_TOKEN|INVALID_CLIENT_TOKEN"
    r"|UNRECOGNIZED_CLIENT|INVALID_TOKEN|HTTP status 40[13]|PERMISSION_DENIED|UNAUTHENTICATED"
    r"|OAuth2|Authenticat|AuthorizationFailure|AccessControlException|^40[13]\b"
)
_NO_ANSWER = (
    r"NETWORK_CONNECTION|curl|resolve|connect|time[d-]? ?out|too slow|UNAVAILABLE|UnknownHost"
    r"|^50\d\b"
)


def sentence(name: str, error: Exception) -> str:
    """Why a remote file cannot be read, and what to do. No credentials are repeated."""
    scheme = name.partition("://")[0].lower()
    kind = _KINDS[scheme]
    status: Mapping[str, Any] = getattr(error, "__dict__", {})
    said = f"{status['status']} {status['message']}" if "status" in status else str(error)
    said = said or type(error).__name__
    tried = _tried(kind, name)
    if isinstance(error, FileNotFoundError):
        return f"there is no {name}, or there is none any more: {tried} was asked"
    if "libhdfs" in said or "libjvm" in said:
        return (
            f"{name} cannot be reached: Hadoop's client cannot be loaded: set JAVA_HOME,"
            " HADOOP_HOME and CLASSPATH (to what 'hadoop classpath --glob' prints)"
        )
    if re.search(_DENIED, said):
        return f"{name} cannot be reached: {tried} denied access: {_CREDENTIALS[kind]}"
    if "HTTP status 301" in said:
        return f"{name} cannot be reached: its bucket is in another region: set AWS_REGION to that"
    if isinstance(error, TimeoutError) or re.search(_NO_ANSWER, said, re.IGNORECASE):
        return (
            f"{name} cannot be reached: no answer from {tried} ({_detail(said)}): check"
            f" {_WHERE[kind]}"
        )
    return f"{name} cannot be read: {tried} says: {_detail(said)}"


def _tried(kind: str, name: str) -> str:
    """What was asked, in words."""
    if kind == "s3":
        endpoint = _endpoint("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        if endpoint:
            return f"{endpoint['scheme']}://{endpoint['endpoint_override']}"
        return "Amazon S3"
    host = name.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return {"gs": "Google Cloud Storage", "abfs": "Azure"}.get(kind, host or "the default namenode")


def _detail(said: str) -> str:
    """The short reason within a long message of a library."""
    brief = re.search(r"curlCode: \d+, ([^;]+);", said) or re.search(
        r"CURL error \[\d+\]=(\w.*?) e", said
    )
    text = brief[1] if brief else said.partition("\n")[0]
    text = re.sub(r"\s*\(Request ID.*|\?\S*|^.*?Azure Error: \[\w*\] ", "", text)
    return text if len(text) <= 200 else text[:197] + "..."
