"""Signatures of a release and of a result: one file, signed with a key of minisign or of SSH, by their own library and
program. Of a release it is the manifest, of a result the statement about it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tripos.releases.manifest import ReleaseCheck
from tripos.ui import Failure

MINISIG, SSHSIG = ".minisig", ".sig"
"""What a signature's name ends in, behind that of what is signed."""
NAMESPACE, OF_RESULTS = "tripos-release", "tripos-result"
"""What an SSH signature is for, so that it counts for nothing else."""
PASSWORD = "TRIPOS_KEY_PASSWORD"
SSH_S = 60
SIGNATURE = "signature"
_SIGNER = "release"
_SSH_KEYS = ("ssh-", "ecdsa-", "sk-")


def sign(signed: Path, key: Path, name: str, environ: Mapping[str, str], namespace: str = NAMESPACE) -> str:
    """Sign a file with a secret key and return the name of the file beside it that has the signature.

    The same key makes the same bytes: the trusted comment of minisign says what is signed, and not when. Raises
    `Failure` S0856 where the key cannot be used.
    """
    try:
        text = key.read_bytes()
    except OSError as error:
        raise _refused(f"cannot read the key `{key}`: {error.strerror}", "give a file with a secret key") from error
    if text.startswith(b"-----BEGIN "):
        return _sign_ssh(signed, key, namespace)
    if text.startswith(b"untrusted comment:"):
        return _sign_minisign(signed, key, name, environ)
    hint = "give a secret key of minisign (`minisign -G`) or of SSH (`ssh-keygen -t ed25519`)"
    raise _refused(f"`{key}` is no secret key of minisign or SSH", hint)


def _sign_minisign(signed: Path, key: Path, name: str, environ: Mapping[str, str]) -> str:
    _need_minisign()
    import minisign

    try:
        secret = minisign.SecretKey.from_file(key)
        if secret.is_encrypted():
            password = environ.get(PASSWORD)
            if password is None:
                raise _refused(f"the key `{key}` has a password", f"put it into the variable {PASSWORD}")
            secret.decrypt(password)
        signature = secret.sign(signed.read_bytes(), trusted_comment=name)
    except minisign.Error as error:
        raise _refused(f"the key `{key}` cannot sign: {error}", "check the key and its password") from error
    return _written(signed, MINISIG, bytes(signature) + b"\n")


def _written(signed: Path, ending: str, signature: bytes) -> str:
    path = signed.with_name(signed.name + ending)
    path.write_bytes(signature)
    return path.name


def _sign_ssh(signed: Path, key: Path, namespace: str) -> str:
    said = _ssh_keygen(["-Y", "sign", "-q", "-n", namespace, "-f", str(key)], signed.read_bytes())
    if said.returncode:
        why = said.stderr.decode(errors="replace").strip().splitlines()
        hint = "a key with a password must be in your agent: ssh-add KEY"
        raise _refused(f"the key `{key}` cannot sign: {why[-1] if why else 'ssh-keygen refuses'}", hint)
    return _written(signed, SSHSIG, said.stdout)


def signature_checks(signed: Path, key: str | None, namespace: str = NAMESPACE) -> list[ReleaseCheck]:
    """Return what there is to say of the signatures beside a file, held against a public key where one is given: a
    file, or what stands in it. Raises `Failure` S0856 where the key is none."""
    raw = _bytes(signed)
    places = {ending: signed.with_name(signed.name + ending) for ending in (MINISIG, SSHSIG)}
    there = [ending for ending, path in places.items() if path.exists()]
    if not there:
        return [ReleaseCheck(SIGNATURE, "unchecked" if key is None else "wrong", "there is none: it is unsigned")]
    public = None if key is None else _public(key)
    kind = None if public is None else (SSHSIG if public.startswith(_SSH_KEYS) else MINISIG)
    if kind is not None and kind not in there:
        return [
            ReleaseCheck(SIGNATURE, "wrong", f"there is none by a key of that kind, only `{places[there[0]].name}`")
        ]
    checks = []
    for ending in there:
        held = public if kind in (None, ending) else None
        if ending == MINISIG:
            checks.append(_check_minisign(places[ending], raw, held))
        else:
            checks.append(_check_ssh(places[ending], raw, held, namespace))
    return checks


def _check_minisign(path: Path, raw: bytes, public: str | None) -> ReleaseCheck:
    if importlib.util.find_spec("minisign") is None:
        return ReleaseCheck(path.name, "unchecked", "py-minisign is not installed: pip install 'tripos[release]'")
    import minisign

    try:
        written = _bytes(path)
        signature = minisign.Signature.from_bytes(written)
        if written not in (bytes(signature), bytes(signature) + b"\n"):
            return ReleaseCheck(path.name, "wrong", "is not as minisign writes a signature: it was changed")
    except (minisign.Error, ValueError) as error:
        return ReleaseCheck(path.name, "wrong", f"is no signature of minisign: {error}")
    if public is None:
        return ReleaseCheck(path.name, "unchecked", "give the public key of whoever signed it: --key FILE")
    try:
        minisign.PublicKey.from_base64(public).verify(raw, signature)
    except (minisign.Error, ValueError) as error:
        return ReleaseCheck(path.name, "wrong", f"does not hold: {error}")
    return ReleaseCheck(path.name, "good", signature.trusted_comment)


def _check_ssh(path: Path, raw: bytes, public: str | None, namespace: str) -> ReleaseCheck:
    if public is None:
        said = _ssh_keygen(["-Y", "check-novalidate", "-n", namespace, "-s", str(path)], raw)
        told = "give the public key of whoever signed it: --key FILE"
    else:
        with tempfile.TemporaryDirectory(prefix="tripos-") as there:
            allowed = Path(there) / "signers"
            allowed.write_text(f"{_SIGNER} {public}\n", "utf-8")
            arguments = ["-Y", "verify", "-f", str(allowed), "-I", _SIGNER, "-n", namespace, "-s", str(path)]
            said = _ssh_keygen(arguments, raw)
        told = ""
    if said.returncode:
        return ReleaseCheck(path.name, "wrong", "is no signature of this file" + (" by that key" if public else ""))
    return ReleaseCheck(path.name, "good" if public is not None else "unchecked", told)


def _public(key: str) -> str:
    """Return a public key in one line: that of a file, or the text itself."""
    try:
        text = Path(key).read_text("utf-8") if Path(key).is_file() else key
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(f"cannot read the key `{key}`", "give a public key, or the file that has it") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("untrusted comment:")]
    if len(lines) != 1 or not (lines[0].startswith(_SSH_KEYS) or _is_minisign(lines[0])):
        raise _refused(
            f"`{key}` is no public key", "give that of minisign (`minisign.pub`) or of SSH (`id_ed25519.pub`)"
        )
    return lines[0]


def _is_minisign(line: str) -> bool:
    """Return true if a line is a public key of minisign: a wrong path and a secret key say nothing against a
    release."""
    if importlib.util.find_spec("minisign") is None:
        return len(line.split()) == 1
    import minisign

    try:
        minisign.PublicKey.from_base64(line)
    except (minisign.Error, ValueError):
        return False
    return True


def _ssh_keygen(arguments: list[str], raw: bytes) -> subprocess.CompletedProcess[bytes]:
    """Return what ssh-keygen says. Raises `Failure` S0856 where there is none."""
    environ = {**os.environ, "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
    try:
        return subprocess.run(
            ["ssh-keygen", *arguments], input=raw, capture_output=True, timeout=SSH_S, env=environ, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _refused("ssh-keygen cannot be run", "install OpenSSH, or sign with minisign") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _need_minisign() -> None:
    if importlib.util.find_spec("minisign") is None:
        raise Failure("S0857", "signing with minisign needs `minisign`", "pip install 'tripos[release]'")


def _refused(message: str, hint: str) -> Failure:
    return Failure("S0856", message, hint)
