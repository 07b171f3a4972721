"""A stand-in for the Hugging Face Hub on this machine: the requests that pushing and reading a data set make."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.releases.file_server import address_of, running

TOKEN = "hf_of_the_test"
Tree = dict[str, bytes]


@dataclass
class Repo:
    """A data set: its commits by name, the head of `main`, and its tags."""

    commits: dict[str, Tree] = field(default_factory=dict)
    head: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, tree: Tree) -> str:
        """Make a tree the head."""
        name = hashlib.sha1(f"{len(self.commits)}".encode()).hexdigest()
        self.commits[name], self.head = tree, name
        return name

    def find(self, revision: str) -> str | None:
        """Return the commit of a branch, a tag, or its own name."""
        if revision == "main":
            return self.head
        return self.tags.get(revision) or (revision if revision in self.commits else None)


@dataclass
class Hub:
    """The content of the stand-in. `broken` says which requests fail: a part of `METHOD PATH`, and the status."""

    address: str = ""
    repos: dict[str, Repo] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, body: Any = b"", **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _serve(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self._body()
        self.hub.asked.append(f"{self.command} {path}")
        self.hub.tokens.append(self.headers.get("Authorization"))
        for part, status in self.hub.broken.items():
            if part in f"{self.command} {path}":
                return self._answer(status, {"error": "as the test wants it"})
        writes = self.command in ("POST", "PUT") and "/tree/" not in path and "/paths-info/" not in path
        if writes and not path.startswith("/large/") and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._answer(401, {"error": "Invalid username or password."})
        match path.strip("/").split("/"):
            case ["api", "validate-yaml"]:
                return self._answer(200, {"errors": [], "warnings": []})
            case ["api", "repos", "create"]:
                return self._create(json.loads(body))
            case ["large", oid]:
                assert hashlib.sha256(body).hexdigest() == oid
                self.hub.large[oid] = body
                return self._answer(200)
            case ["api", "datasets", owner, name, *rest]:
                return self._of_repo(f"{owner}/{name}", rest, body)
            case ["datasets", _, _, "info", "lfs", "objects", "batch"]:
                return self._large(json.loads(body))
            case ["datasets", owner, name, "resolve", revision, *rest]:
                return self._file(f"{owner}/{name}", revision, "/".join(rest))
        return self._answer(404, {"error": "not found"})

    do_GET = do_HEAD = do_POST = do_PUT = _serve  # noqa: N815

    def _create(self, said: Any) -> None:
        name = f"{said['organization']}/{said['name']}"
        if name in self.hub.repos:
            return self._answer(409, {"error": "You already created this dataset repo"})
        self.hub.repos[name] = Repo()
        self.hub.repos[name].commit({".gitattributes": b"*.parquet filter=lfs\n"})
        return self._answer(200, {"url": f"{self.hub.address}/datasets/{name}"})

    def _of_repo(self, name: str, rest: list[str], body: bytes) -> None:
        repo = self.hub.repos.get(name)
        if repo is None:
            return self._answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        match rest:
            case [] | ["revision", _]:
                commit = repo.find(rest[1] if rest else "main")
                if commit is None:
                    return self._answer(404, {"error": "Invalid rev id"}, X_Error_Code="RevisionNotFound")
                siblings = [{"rfilename": each} for each in repo.commits[commit]]
                return self._answer(200, {"id": name, "sha": commit, "siblings": siblings, "private": False})
            case ["refs"]:
                tags = [{"name": t, "ref": f"refs/tags/{t}", "targetCommit": c} for t, c in repo.tags.items()]
                main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head}
                return self._answer(200, {"branches": [main], "converts": [], "tags": tags})
            case ["tree", revision, *_]:
                tree = repo.commits[repo.find(revision) or repo.head]
                files = [{"type": "file", "path": p, "size": len(c), "oid": _oid(c)} for p, c in tree.items()]
                return self._answer(200, files)
            case ["preupload", _]:
                files = json.loads(body)["files"]
                modes = [
                    {
                        "path": each["path"],
                        "uploadMode": "lfs" if each["path"].endswith(".parquet") else "regular",
                        "shouldIgnore": False,
                    }
                    for each in files
                ]
                return self._answer(200, {"files": modes})
            case ["commit", _]:
                return self._commit(name, repo, [json.loads(line) for line in body.splitlines()])
            case ["tag", revision]:
                tag = json.loads(body)["tag"]
                if tag in repo.tags:
                    return self._answer(409, {"error": "Tag reference exists already"})
                repo.tags[tag] = repo.find(revision) or ""
                return self._answer(200, {})
        return self._answer(404, {"error": "not found"})

    def _commit(self, name: str, repo: Repo, lines: list[Any]) -> None:
        head = lines[0]["value"]
        if head.get("parentCommit") not in (None, repo.head):
            return self._answer(412, {"error": "A commit has happened since"})
        tree = dict(repo.commits[repo.head])
        for line in lines[1:]:
            value = line["value"]
            match line["key"]:
                case "file":
                    tree[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    tree[value["path"]] = self.hub.large[value["oid"]]
                case "deletedFile":
                    del tree[value["path"]]
        commit = repo.commit(tree)
        url = f"{self.hub.address}/datasets/{name}/commit/{commit}"
        return self._answer(200, {"commitUrl": url, "commitOid": commit, "success": True})

    def _large(self, said: Any) -> None:
        objects = []
        for each in said["objects"]:
            entry = {"oid": each["oid"], "size": each["size"]}
            if each["oid"] not in self.hub.large:
                entry["actions"] = {"upload": {"href": f"{self.hub.address}/large/{each['oid']}"}}
            objects.append(entry)
        self._answer(200, {"transfer": "basic", "objects": objects})

    def _file(self, name: str, revision: str, path: str) -> None:
        repo = self.hub.repos.get(name)
        if repo is None:
            return self._answer(404, X_Error_Code="RepoNotFound")
        commit = repo.find(revision)
        if commit is None:
            return self._answer(404, X_Error_Code="RevisionNotFound")
        content = repo.commits[commit].get(path)
        if content is None:
            return self._answer(404, X_Error_Code="EntryNotFound", X_Repo_Commit=commit)
        return self._answer(200, content, ETag=f'"{_oid(content)}"', X_Repo_Commit=commit)


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def serving() -> Iterator[Hub]:
    """The stand-in, as long as it is needed."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    with running(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        hub.address = address_of(server)
        yield hub
